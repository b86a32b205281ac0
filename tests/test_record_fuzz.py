"""Damaged records: whatever bytes change, the answer is a value or a RecordError."""

from __future__ import annotations

import json
import os
import shutil
import struct
import subprocess
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import builders as make
import numpy as np
import pytest
from builders import SECOND
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from rushhour.errors import RecordError
from rushhour.metrics.calibration import calibrate
from rushhour.record.record import Record
from rushhour.series.series import SERIES
from rushhour.summary.expectations import check

if TYPE_CHECKING:
    from collections.abc import Iterator

# More of them when hunting: RUSHHOUR_FUZZ=5000.
EXAMPLES = int(os.environ.get("RUSHHOUR_FUZZ", "60"))
SOURCE = Path(__file__).parents[1] / "src"
FILES = (
    "manifest.json", "plan.json", "result.json", "raw/tcp_probe.rh", "raw/tcp_info.rh", "raw/qdisc.rh",
    "raw/udp.rh", "raw/ping.rh", "raw/transaction.rh", "raw/interface.rh", "raw/wire.rh",
    "raw/tcp_cong_state_set.rh",
    "raw/tcp_retransmit_skb.rh", "raw/inet_sk_error_report.rh", "raw/sojourn.rh",
)  # fmt: skip


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A record with every table and every kind of flow."""
    t_ns = np.arange(8) * SECOND
    codel = make.qdisc(t_ns, parent=0x10001, handle=1, kind=b"codel", xstats=struct.pack("<4Ii4I", *range(9)))
    tables = {
        "tcp_probe": make.rows(make.TCP_PROBE, t_ns=t_ns, flow=[0, 1] * 4, snd_cwnd=10, srtt=21_000),
        "tcp_info": np.concatenate(
            [
                make.tcp_info(t_ns, flow, side=side, bytes_received=t_ns // 1000)
                for flow in (0, 1)
                for side in (0, 1)
            ]
        ),
        "qdisc": np.concatenate([make.qdisc(t_ns), codel]),
        "udp": make.rows(make.UDP, flow=2, seq=[0, 2, 1, 1, 4, 5, 6, 7], tx_ns=t_ns, rx_ns=t_ns + 9),
        "ping": make.rows(make.PING, flow=3, seq=np.arange(8), tx_ns=t_ns, rx_ns=t_ns + 9),
        "transaction": make.rows(make.TRANSACTION, flow=4, seq=np.arange(8), start_ns=t_ns, end_ns=t_ns + 9),
        "interface": make.rows(make.INTERFACE, t_ns=t_ns, end=2, tx_bytes=t_ns // 1000),
        "wire": make.rows(make.WIRE, t_ns=t_ns, end=2, packets=np.arange(8), lost=0),
        "tcp_cong_state_set": make.rows(make.CONG_STATE, t_ns=t_ns, cong_state=[0, 3] * 4),
        "tcp_retransmit_skb": make.rows(make.TCP_RETRANSMIT, t_ns=t_ns),
        "inet_sk_error_report": make.rows(make.ERROR_REPORT, t_ns=t_ns, error=110),
        "sojourn": make.rows(make.SOJOURN, t_ns=t_ns, end=2, sojourn_ns=9),
    }
    flows = [
        make.flow(0, "a"), make.flow(1, "b"), make.flow(2, "u", "udp"), make.flow(3, "p", "ping"),
        make.flow(4, "r", "rr"),
    ]  # fmt: skip
    folder = tmp_path_factory.mktemp("fuzz") / "whole"
    calibration = {
        "pings": [{"path": 0, "rtt_ns": [20_000_000]}],
        "trains": [{"train": 0, "arrivals_ns": [k * 121_120 for k in range(20)]}],
        "qdiscs": [{"end": 2, "kind": "tbf"}],
    }
    path = {"from": "s", "src": "10.0.0.1", "to": "r", "dst": "10.0.0.2", "size": 1472}
    make.record(
        folder,
        tables,
        flows=flows,
        planned={0: {"from": "s", "to": "r", "bytes": 9}, 2: {"packet_bytes": 100}},
        outcomes=[make.outcome(number, packets_sent=9) for number in range(5)],
        result={"calibration": calibration},
        plan={"calibration": {"paths": [path], "trains": [path]}, "links": []},
        manifest={"scenario": {"resolved": {"expect": [{"metric": "loss", "max": 0.5}]}}},
    )
    yield folder
    shutil.rmtree(folder)


def read_all(folder: Path) -> None:
    record = Record.open(folder)
    for name in record.tables():
        record.frame(name)
    for name in SERIES:
        record.series(name, flow=0, end=2)
    check(record, record.metrics())
    calibrate(record)


def say(error: RecordError) -> None:
    assert error.where or error.hint, error


def test_the_whole_record_is_read(whole: Path) -> None:
    read_all(whole)
    Record.open(whole).verify()


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    name=st.sampled_from(FILES),
    damage=st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), max_size=6),
    cut=st.one_of(st.none(), st.floats(0, 1)),
)
@example(name="raw/tcp_probe.rh", damage=[(0.203125, 32)], cut=None)  # a column with another name
def test_flipped_and_missing_bytes(
    whole: Path, name: str, damage: list[tuple[float, int]], cut: float | None
) -> None:
    path = whole / name
    good = path.read_bytes()
    bad = bytearray(good)
    for place, value in damage:
        bad[int(place * len(bad))] = value
    if cut is not None:
        del bad[int(cut * len(bad)) :]
    path.write_bytes(bad)
    try:
        with warnings.catch_warnings(), make.unsealed():
            warnings.simplefilter("ignore", RuntimeWarning)  # sums of absurd stamps may overflow
            read_all(whole)
        if bytes(bad) != good and name != "manifest.json":
            with pytest.raises(RecordError, match="was changed"):
                Record.open(whole).verify()
    except RecordError as error:
        say(error)
    finally:
        path.write_bytes(good)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=st.sampled_from(FILES[:3]), data=st.data())
def test_wrong_values_in_the_documents(whole: Path, name: str, data: st.DataObject) -> None:
    path = whole / name
    good = path.read_text()
    document = json.loads(good)
    # Walk down to some entry and put something else there.
    place = document
    for _ in range(data.draw(st.integers(0, 3))):
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        inner = [key for key in keys if isinstance(place[key], dict | list) and place[key]]
        if not inner:
            break
        place = place[data.draw(st.sampled_from(inner))]
    keys = list(place) if isinstance(place, dict) else list(range(len(place)))
    place[data.draw(st.sampled_from(keys))] = data.draw(JSON)
    path.write_text(json.dumps(document))
    try:
        with warnings.catch_warnings(), make.unsealed():
            warnings.simplefilter("ignore", RuntimeWarning)
            read_all(whole)
    except RecordError as error:
        say(error)
    finally:
        path.write_text(good)


def test_reading_a_record_imports_no_slow_package() -> None:
    code = (
        "import sys, rushhour.record.record, rushhour.metrics.catalog, rushhour.metrics.calibration;"
        "import rushhour.summary.summary;"
        "print(*sorted({'scipy', 'pyarrow', 'matplotlib', 'pydantic', 'pandas'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": str(SOURCE)},
    )

    assert done.stdout.strip() == ""
