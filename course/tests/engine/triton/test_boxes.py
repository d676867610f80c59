"""What a descriptor copies is what an H200 counted: boxes, and the sectors of their lines."""

import json
from typing import Any

import pytest

from course.engine.triton.launch import launch
from course.tests.engine.triton.boxes import CASES, ITEM_BYTES, RECORD, arguments, kernel

ROWS = json.loads(RECORD.read_text())["boxes"]
LINE_BYTES, SECTOR_BYTES = 128, 32


def filled_sectors(row: dict[str, Any]) -> int:
    """What the counter of loads has beside: one for each 32 bytes of a line that lie outside."""
    (height, width), (rows, columns), (top, left) = row["box"], row["tensor"], row["at"]
    itemsize = ITEM_BYTES[row["dtype"]]
    line, found = min(width, LINE_BYTES // itemsize), 0
    for y in range(top, top + height):
        for x in range(left, left + width, line):
            inside = max(0, min(x + line, columns) - max(x, 0)) if 0 <= y < rows else 0
            found += -(-(line - inside) * itemsize // SECTOR_BYTES)
    return found


def test_every_box_was_counted():
    known = [tuple(map(str, case.values())) for case in json.loads(json.dumps(CASES))]
    assert [tuple(str(row[name]) for name in CASES[0]) for row in ROWS] == known


@pytest.mark.parametrize("row", ROWS, ids=lambda row: " ".join(str(row[k]) for k in CASES[0]))
@pytest.mark.family
def test_boxes_and_sectors_are_those_of_the_counters(row):
    traffic = launch(kernel(), arguments(row, "cpu"), (1,), {"num_warps": 4}, target=90)
    loads, stores = traffic.loads, traffic.stores
    assert (loads.requests, stores.requests) == (
        row["tma_load_requests"],
        row["tma_store_requests"],
    )
    assert stores.sectors == row["tma_store_sectors"]
    assert loads.sectors + filled_sectors(row) == row["tma_load_sectors"]
