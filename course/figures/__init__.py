"""The pictures of the course: every one with a text alternative, none by colour alone.

Draw diagrams with `drawing.Drawing`, charts with `picture.plot()` and `Picture(figure, alt)`. The
pictures of one lesson stand in the module of its stem: functions that return a `Picture`, every
parameter with a default, so that a test draws them all.
"""

from course.figures.access import access_picture

__all__ = ["access_picture"]
