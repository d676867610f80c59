"""Pictures of lesson 12: kernels under one roof, six reports, forty configurations of tiles."""

from __future__ import annotations

import numpy as np

from course.exercises.speed_of_light import (
    CEILINGS,
    LETTERS,
    ON_ROOFLINE,
    RECORD,
    ROOFLINE,
    SHAPES,
    TILES,
    report,
)
from course.figures.picture import FAINT_INK, INK, MARKERS, SERIES, Picture, chart, plot

#: Above this percentage a unit counts as full.
FULL_PERCENT = 75
_HATCHES = ("", "//", "..", "xx")


def one_roofline() -> Picture:
    """Sixteen recorded kernels, and PyTorch on the same work, under this GPU's measured roof."""
    figure = plot(9.2, 5.4)
    axes, names = figure.subplots(1, 2, width_ratios=(3, 1))
    reach = np.logspace(-1.4, 3.7, 200)
    slope = CEILINGS["COPY_GB_S"] / 1000
    roofs = (("float16, tensor cores", "FLOAT16_TFLOP_S"), ("float32", "FLOAT32_TFLOP_S"))
    for name, peak in roofs:
        axes.plot(reach, np.minimum(slope * reach, CEILINGS[peak]), color=FAINT_INK, linewidth=1)
        axes.annotate(name, (0.05, CEILINGS[peak] * 1.12), fontsize=8, color=FAINT_INK)
    words, lines = [], []
    for row, kernel in zip(ROOFLINE, ON_ROOFLINE, strict=True):
        number = int(row["RUN"])
        x, speed = row["FLOP"] / row["BYTES"], row["FLOP"] / row["US"] / 1e6
        axes.plot(x, speed, MARKERS[0], color=SERIES[0], markersize=6)
        axes.annotate(str(number), (x, speed), (5, -3), textcoords="offset points", fontsize=8)
        torch_us = RECORD["kernels"][kernel].get("torch_us")
        said = f"{kernel} {speed:.3g} TFLOP/s"
        if torch_us:
            theirs = row["FLOP"] / torch_us / 1e6
            axes.plot(x, theirs, MARKERS[1], color=SERIES[1], markersize=8, fillstyle="none")
            said += f", PyTorch {theirs:.3g}"
        words.append(f"{said} at {x:.3g} FLOP per byte")
        lines.append(f"{number:2}  {kernel}")
    axes.set(xscale="log", yscale="log", xlim=(0.04, 5000), ylim=(0.02, 2000))
    axes.set(xlabel="FLOP for each byte that has to move", ylabel="TFLOP/s")
    axes.set_title("Filled: ours. Hollow: PyTorch. Lines: this GPU's copy and cuBLAS's products")
    axes.grid(alpha=0.25)
    names.axis("off")
    names.text(0, 1, "\n".join(lines), fontsize=9, va="top", color=INK)
    return Picture(
        figure,
        "A chart with logarithmic axes: FLOP per byte to the right, TFLOP/s upwards. A slanted "
        f"line, {slope:.2f} TB/s, rises to two flat roofs at {CEILINGS['FLOAT32_TFLOP_S']:.0f} and "
        f"{CEILINGS['FLOAT16_TFLOP_S']:.0f} TFLOP/s. Kernels: " + "; ".join(words) + ".",
    )


def six_reports() -> Picture:
    """Percent of peak of DRAM, L2, L1 and the SM's busiest pipe, for the reports A to F."""
    figure, axes = chart(8.8, 4.0)
    names = ("DRAM", "L2", "L1", "SM")
    rows = {letter: report(kernel) for letter, (kernel, _) in LETTERS.items()}
    for number, name in enumerate(names):
        axes.bar(
            np.arange(len(rows)) + 0.2 * (number - 1.5),
            [row[name] for row in rows.values()],
            0.18,
            color=SERIES[number],
            hatch=_HATCHES[number],
            edgecolor=INK,
            linewidth=0.5,
            label=name,
        )
    axes.axhline(FULL_PERCENT, color=INK, linestyle="--", linewidth=0.8)
    axes.set_xticks(range(len(rows)), list(rows))
    axes.set_ylabel("percent of peak")
    axes.set_title("Six reports: above the dashed line a unit counts as full")
    axes.legend(loc="upper right", fontsize=9, ncols=4)
    axes.set_ylim(0, 115)
    words = [
        f"{letter}: " + ", ".join(f"{name} {row[name]:.0f}" for name in names)
        for letter, row in rows.items()
    ]
    return Picture(
        figure,
        "Four bars for each of six reports, percent of peak, with a dashed line at "
        f"{FULL_PERCENT}. " + "; ".join(words) + ".",
    )


def forty_tiles(shape: str = "square") -> Picture:
    """TFLOP/s of every configuration over its intensity, at one shape, beside cuBLAS."""
    figure, axes = chart(8.4, 4.6)
    measured = SHAPES[shape]
    flop = 2 * measured["M"] * measured["N"] * measured["K"]
    rows = [r for r in TILES if r["SHAPE"] == list(SHAPES).index(shape)]
    kinds = {
        "fits": [r for r in rows if r["REGISTERS"] and not r["SPILLS"]],
        "registers spill": [r for r in rows if r["SPILLS"]],
    }
    for number, (name, those) in enumerate(kinds.items()):
        axes.plot(
            [r["BM"] * r["BN"] / (r["BM"] + r["BN"]) for r in those],
            [flop / r["US"] / 1e6 for r in those],
            MARKERS[number],
            color=SERIES[number],
            label=name,
            markersize=6,
        )
    library = flop / measured["cublas"] / 1e6
    axes.axhline(library, color=INK, linestyle="--", linewidth=0.8)
    axes.annotate("cuBLAS", (17, library), (0, 4), textcoords="offset points", fontsize=9)
    axes.set_xlabel("FLOP for each byte that a program loads: BM * BN / (BM + BN)")
    axes.set(ylabel="TFLOP/s", ylim=(0, 850))
    size = f"{measured['M']} x {measured['N']} x {measured['K']}"
    axes.set_title(f"Forty configurations at {size}, float16, recorded")
    axes.legend(loc="center left", fontsize=9)
    axes.grid(alpha=0.25)
    best = max(kinds["fits"], key=lambda r: flop / r["US"])
    spilled = [flop / r["US"] / 1e6 for r in kinds["registers spill"]]
    return Picture(
        figure,
        f"TFLOP/s over FLOP per byte for {len(rows)} configurations at {size}. Those that fit "
        f"rise from the lower left to the upper right, up to {flop / best['US'] / 1e6:.0f} TFLOP/s "
        f"with tiles of {best['BM']} x {best['BN']} x {best['BK']}; cuBLAS stands at "
        f"{library:.0f}. {len(spilled)} spill and reach {min(spilled):.0f} to {max(spilled):.0f}. "
        f"{len(rows) - len(spilled) - len(kinds['fits'])} do not launch.",
    )
