"""The evaluation: its judge, its streams and its pages; what it measures is in docs/evaluation."""

import json
import re
import shutil
from pathlib import Path
from types import SimpleNamespace
from zipfile import ZipFile

import numpy as np
import pytest
from benchmarks.markdown import table
from click.testing import CliRunner
from evaluation import methods, page, sensors
from evaluation.__main__ import SOURCES, main
from evaluation.question import HINDSIGHT, OURS, Row, in_words, median_ratio, target, worst
from evaluation.questions import QUESTIONS, memory, missing
from evaluation.questions.rank import changing as changing_rank
from evaluation.questions.rank import real, slow, slow_results
from evaluation.rivals import factor_counts
from evaluation.slow_streams import FAMILIES, independent_rows
from evaluation.slow_streams import slow as slow_stream
from evaluation.streams import RANKS, Known, Stream, changing, edge_of

from eigenstream.paper.reproduction.runner import JudgedItem, Reproduction

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs" / "evaluation"
ANCHOR = re.compile(r"evaluation: ([\w./-]*\w)")


pytestmark = pytest.mark.xdist_group("evaluation")  # what they look at is computed once


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    folder = tmp_path_factory.mktemp("evaluation")
    chosen = ["--only", "power-laws", "--only", "memory"]
    # One process is enough for two cases. The second time one of them comes from the cache.
    options = ["--quick", "--jobs", "1", "--cache", str(folder / "cache")]
    for only, pages in ((chosen, "pages"), (chosen[2:], "again")):
        arguments = [*options, *only, "--out", str(folder / pages)]
        outcome = CliRunner().invoke(main, arguments, catch_exceptions=False)
        assert outcome.exit_code == 0, outcome.output
    return folder


def test_pages_pictures_and_the_table_come_of_one_run(out):
    overview = (out / "pages" / "README.md").read_text()
    results = json.loads((out / "pages" / "results.json").read_text())
    assert {row["anchor"] for row in results["rows"]} == {"g/64/4", "h/1"}
    assert len(list((out / "cache").rglob("*.json"))) == 2
    for name in ("memory", "power-laws"):
        assert f"({name}.md)" in overview
        assert f"({name}.png)" in (out / "pages" / f"{name}.md").read_text()
        assert (out / "pages" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    assert "Quick settings" in overview
    assert overview.count("\n", 0, overview.index("## Targets")) < 25  # the summary is one screen


def test_quick_pages_do_not_replace_the_real_ones():
    outcome = CliRunner().invoke(main, ["--quick"])
    assert outcome.exit_code == 2
    assert "need --out" in outcome.output


def test_some_questions_are_renewed_among_the_pages_of_all(out, tmp_path):
    """The memory's lines and rows are new; those of the other question stay as they were, to the letter."""
    pages = tmp_path / "pages"
    shutil.copytree(out / "pages", pages)
    old = {name: (pages / name).read_text() for name in ("README.md", "results.json")}
    (pages / "README.md").write_text(
        re.sub(r"\| \(([gh])\) (.*) \|\n", r"| (\1) \2 old |\n", old["README.md"])
    )
    results = json.loads(old["results.json"])
    for entry in (*results["rows"], *results["targets"]):
        entry["measure"] = "old"
    (pages / "results.json").write_text(json.dumps(results))
    run = Reproduction([memory], quick=True, seed=0, folder=out / "cache", sources=SOURCES)
    page.renew([run.outcome(memory)], pages)
    lines = [line for line in (pages / "README.md").read_text().splitlines() if line.startswith("| (")]
    assert {line[3]: line.endswith("old |") for line in lines} == {"g": False, "h": True}
    assert len(lines) == old["README.md"].count("\n| (")
    renewed = json.loads((pages / "results.json").read_text())
    assert {row["anchor"]: row["measure"] == "old" for row in renewed["rows"]} == {
        "g/64/4": False,
        "h/1": True,
    }
    assert len(renewed["targets"]) == len(results["targets"])


def test_renewing_needs_some_questions_at_full_settings():
    outcome = CliRunner().invoke(main, ["--renew"])
    assert outcome.exit_code == 2
    assert "--renew needs --only" in outcome.output


def test_renewing_computes_cases_once_more_and_needs_no_pages(tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "FULL", memory.QUICK)
    kept, pages = tmp_path / "cache", tmp_path / "pages"
    given = ["--only", "memory", "--renew", "--jobs", "1", "--cache", str(kept), "--out", str(pages)]
    moments = []
    for _ in range(2):
        outcome = CliRunner().invoke(main, given, catch_exceptions=False)
        assert outcome.exit_code == 0, outcome.output
        assert json.loads((pages / "results.json").read_text())["rows"]
        moments.append({path.name: path.stat().st_mtime_ns for path in kept.rglob("*.json")})
    first, second = moments
    assert first.keys() == second.keys()
    assert all(second[name] > first[name] for name in first)


def row(ours, rivals, **options):
    return Row("x/y", "a case", "error", {OURS: ours, **rivals}, **options)


def test_the_ratio_says_how_many_times_better_ours_is():
    assert row(1.0, {"A": 2.0, "B": 5.0}).ratio == 2.0
    assert row(0.5, {"A": 0.25}, smaller_is_better=False).ratio == 2.0
    lost = row(3.0, {"A": 1.0, "B": 2.0})
    assert (lost.lost, lost.best_rival, lost.as_json()["winner"]) == (True, "A", "A")
    assert row(3.0, {"A": 1.0}, contest=False).as_json()["winner"] is None
    assert not row(3.0, {"A": 1.0}, contest=False).lost


@pytest.mark.parametrize(
    ("ratio", "words"),
    [
        (1.42, "1.42 times better"),
        (1.0, "as good"),
        (1.0004, "as good"),
        (0.25, "4 times worse"),
        (47_666, "over 1,000 times better"),
        (1e-5, "over 1,000 times worse"),
        (float("inf"), "ours is exact"),
        (0.0, "the rival is exact"),
    ],
)
def test_ratios_are_words(ratio, words):
    assert in_words(ratio) == words


def test_no_page_has_a_ratio_that_is_no_words():
    for path in DOCS.glob("*.md"):
        assert not re.findall(r"\| [\d.,e+-]+x \| `", path.read_text()), path.name


def test_numbers_stand_to_the_right_and_words_to_the_left():
    text = table(("case", "error", "share", "who"), [("1", "**0.5**", "12 %", "A"), ("2", "", "1,000", "3")])
    assert text.splitlines()[1] == "| --- | ---: | ---: | --- |"


def test_what_is_below_the_floor_is_exact():
    assert row(1e-15, {"A": 1e-14}, floor=1e-12).ratio == 1.0
    assert row(1e-15, {"A": 0.1}, floor=1e-12).ratio == float("inf")
    assert row(0.1, {"A": 1e-15}, floor=1e-12).lost
    assert row(1e-15, {"A": 0.1}, floor=1e-12).in_words == "ours is exact"
    nothing = row(0.0, {"A": 0.1}, smaller_is_better=False)
    assert (nothing.in_words, nothing.loss_in_words) == ("only the rival scores", "only A scores")
    assert row(1e-15, {"A": 0.1}, floor=1e-12).as_json()["ratio"] is None


def test_rivals_can_be_chosen_and_hindsight_left_out():
    both = row(2.0, {"A": 4.0, f"A, {HINDSIGHT}": 1.0})
    assert both.lost
    assert not both.as_published().lost
    assert both.against("A").ratio == 2.0
    assert worst([both, both.as_published()]) is both
    assert worst([both.as_published()]) is None
    assert median_ratio([both, both.as_published(), both.as_published()]) == 2.0


def outcome_of(rows, claims=()):
    item = SimpleNamespace(LETTER="x", NAME="made-up", TITLE="Made up", rows=lambda settings, tables: rows)
    return JudgedItem(item, None, 0, (), (), claims)


def test_the_summary_names_the_rival_that_wins_and_the_worst_loss():
    rows = [row(4.0, {"A": 1.0, "B": 9.0}), row(4.0, {"A": 3.0, "B": 9.0}), row(1.0, {"A": 2.0, "B": 9.0})]
    text = page._summary([outcome_of(rows)], {"x": rows})
    assert "| A | 1 / 2 / 0 | 1.33 times worse | 1 / 2 / 0 | a case: 4 times worse than A |" in text
    text = page._summary([outcome_of(rows[2:])], {"x": rows[2:]})
    assert "| eigenstream | 1 / 0 / 0 | 2 times better | 1 / 0 / 0 | nowhere |" in text


def test_a_missed_target_is_said_to_be_missed():
    claims = (target("fast", "seconds", "slow", False), target("small", "bytes", "small", True))
    text = page._targets([outcome_of([], claims)])
    assert "| (x) fast | slow | **missed** |" in text
    assert "| (x) small | small | met |" in text


def test_components_come_and_go_as_told():
    known = Known("white", 20, 2000, 200, 0, weakest=4.0)
    stream = changing(known)
    assert stream.rows.shape == (2000 * len(RANKS), 20)
    for part, count in zip(np.split(stream.rows, len(RANKS)), RANKS, strict=True):
        lam = np.linalg.eigvalsh(part.T @ part / 2000)
        assert np.count_nonzero(lam > 1.5 * stream.edge) == count
    scaled = changing(Known("white", 20, 2000, 200, 0, weakest=4.0, scale=1e6))
    np.testing.assert_allclose(scaled.rows, 1e6 * stream.rows)


def test_the_edge_of_white_noise_is_that_of_marchenko_and_pastur(rng):
    """With a half-life h, about 2 h / ln 2 rows count."""
    edge = edge_of(rng.standard_normal((12_000, 40)), 500)
    assert edge == pytest.approx((1 + np.sqrt(40 / (2 * 500 / np.log(2)))) ** 2, rel=0.05)


def test_time_at_the_right_rank_is_counted_after_settling():
    known = Known("white", 4, 100, 10, 0)
    ranks = np.repeat(RANKS, 100)
    found = changing_rank._judged(ranks.copy(), Stream(np.empty((500, 4)), ranks, 1.0), known)
    assert (found["share"], found["false"], found["delay"]) == (1.0, 0.0, 0.0)
    late = np.r_[ranks[:1].repeat(20), ranks[:-20]]  # everything 20 rows late
    found = changing_rank._judged(late, Stream(np.empty((500, 4)), ranks, 1.0), known)
    assert (found["share"], found["delay"]) == (1.0, 20.0)
    found = changing_rank._judged(
        np.r_[ranks[:450], ranks[450:] + 1], Stream(np.empty((500, 4)), ranks, 1.0), known
    )
    assert found["share"] == pytest.approx(250 / 300)
    assert found["false"] == pytest.approx(1e4 / 300)


def test_components_found_for_the_first_time_are_told_apart_from_other_changes():
    course = {"right": [], "too many": [], "changes": [], "found late": []}
    slow._follow(course, np.array([0, 0, 2, 2, 3, 2, 3, 4, 4, 5, 4]), 3, 4)
    assert course == {"right": [0.375], "too many": [0.125], "changes": [7500], "found late": [2500]}


@pytest.mark.parametrize("family", FAMILIES)
def test_slow_inputs_have_the_variance_and_the_likeness_that_are_told(family):
    """Variance 1 and, where rows have a law of their own, the sum of squared autocorrelations."""
    n, T = (40, 60_000) if family == "AR 0.99" else (40, 20_000)
    X = slow_stream(family, n, T, 0, seed=1).rows
    assert X.shape == (T, n)
    assert X.var(axis=0).mean() == pytest.approx(1, rel=0.3)
    if family in ("AR 0.5", "AR 0.9", "AR 0.99", "ARMA"):
        power = np.square(np.abs(np.fft.rfft(X, 2 * T, axis=0))).sum(axis=1)
        rho = np.fft.irfft(power)[:500]
        tau = 1 + 2 * np.square(rho[1:] / rho[0]).sum()
        assert independent_rows(family, T, None) == pytest.approx(T / tau, rel=0.15)


@pytest.mark.parametrize("half_life", [None, 100])
def test_factors_have_their_strengths_in_the_rows_as_they_count(half_life):
    stream = slow_stream("AR 0.9", 30, 1000, 4, 3, half_life, weakest=50.0)
    weights = np.ones(1000) if half_life is None else 0.5 ** (np.arange(1000)[::-1] / half_life)
    X = stream.rows - weights @ stream.rows / weights.sum()
    lam = np.linalg.eigvalsh((weights * X.T) @ X / weights.sum())[::-1]
    np.testing.assert_allclose(lam[:4] / lam[3], [4, 2, 1.4, 1], rtol=0.1)
    assert (stream.rank, lam[3] > 10 * lam[4]) == (4, True)


@pytest.mark.parametrize("name", factor_counts.COUNTS)
@pytest.mark.parametrize("factors", [0, 3])
def test_economists_count_strong_factors_in_white_noise(name, factors):
    found = factor_counts.counts(slow_stream("white", 40, 400, factors, 0, weakest=8.0).rows)
    assert found[f"{name}, levels"] == found[f"{name}, differences"] == factors


def test_economists_are_deceived_by_random_walks_and_look_at_differences():
    """Spurious factors: unrelated walks seem to have common trends."""
    found = factor_counts.counts(slow_stream("random walks", 40, 400, 0, 0).rows)
    for name in factor_counts.COUNTS:
        assert found[f"{name}, levels"] > 0
        assert found[f"{name}, differences"] == 0


def test_an_estimator_needs_more_inputs_than_it_looks_at():
    assert factor_counts.onatski(np.ones(6), 6, 100) == 0


def test_slow_streams_are_judged_by_targets():
    cases = slow.cases(slow.QUICK, 0)
    assert all(case.seed >= slow.FIRST_SEED for case in cases)
    tables = [slow.simulate(case) for case in cases]
    found = {row.anchor: row for row in slow_results.rows(slow.QUICK, tables)}
    row = found["a/slow/AR-0.9/noise/300/offline/right"]
    assert {OURS, "SPIRIT", "BEMA", f"Bai-Ng, levels, {HINDSIGHT}", "Onatski, differences"} <= set(row.values)
    assert set(row.extra) == {slow.BY_ROWS}
    assert "a/slow/AR-0.9/factors/h50/online/right" in found
    assert len({claim.says for claim in slow_results.claims(slow.QUICK, tables)}) == 4
    tables[0]["errors"]["online"] = [0, 1]
    claim = slow_results.claims(slow.QUICK, tables)[0]
    assert "missed by AR 0.9, noise only, 300 rows, online 50.0%" in claim.value
    text = slow_results.further(slow.QUICK, tables)
    assert "| AR 0.9, noise only, 300 rows | 31 | online | 2 | +1: 1 | 10001 |" in text


def test_real_records_are_judged_by_agreement(tmp_path, monkeypatch):
    monkeypatch.setattr(sensors, "FOLDER", tmp_path)
    case, *_ = real.cases(real.QUICK, 0)
    missing_table = real.simulate(case)
    assert "Skipped: imputegap" in real.further(real.QUICK, [missing_table])
    assert real.claims(real.QUICK, [missing_table]) == []
    rows = slow_stream("white", 9, 400, 2, 0, weakest=9.0).rows
    monkeypatch.setattr(sensors, "load", lambda name, most: rows[:most])
    found = real.simulate(case)
    assert found["ranks"]["online"] == found["ranks"]["offline"] == 2
    assert all(str(claim.verdict) == "holds" for claim in real.claims(real.QUICK, [found]))
    assert f"| meteo | 9 | 400 | {found['worth']:,.0f} | 2 | 2 | 2 | 2 |" in real.further(real.QUICK, [found])
    found["ranks"]["half-life"], found["blocks"] = 3, [2, 4]
    values = [claim.value for claim in real.claims(real.QUICK, [found])]
    assert values == ["0 of 1; not meteo 2 / 2 / 2, 4", "0 of 1; not meteo 2 / 3"]


@pytest.mark.parametrize("pattern", ["scattered", "blocks"])
def test_holes_have_their_share_and_leave_every_row_something(pattern):
    gone = missing.holes((5000, 4), missing.Case("x", pattern, 0.5, 5000, 0, ""))
    assert gone.mean() == pytest.approx(0.5, abs=0.06)
    assert not gone.all(axis=1).any()


def test_filling_by_the_mean_and_the_last_value():
    gappy = np.array([[1.0, np.nan], [3.0, 4.0], [np.nan, np.nan]])
    np.testing.assert_array_equal(missing.by_mean(gappy), [[1, 0], [3, 4], [2, 4]])
    np.testing.assert_array_equal(missing.by_last(gappy), [[1, 0], [3, 4], [3, 4]])


def test_sensor_sets_are_read_out_of_the_wheel(tmp_path, monkeypatch):
    monkeypatch.setattr(sensors, "FOLDER", tmp_path)
    case = missing.Case("meteo", "scattered", 0.2, 100, 0, "")
    assert sensors.load("meteo", 100) is None
    tables = [missing.simulate(case)]
    assert "Skipped: imputegap" in missing.further(missing.QUICK, tables)
    assert missing.rows(missing.QUICK, tables) == []
    with ZipFile(tmp_path / f"imputegap-{sensors.VERSION}-py3-none-any.whl", "w") as archive:
        archive.writestr("imputegap/datasets/meteo.txt", "Fz Cz still\n1 5 7\n2 7 7\n\n3 3 7\n4 5 7\n")
    X = sensors.load("meteo", 3)
    assert X.shape == (3, 2)
    np.testing.assert_allclose(X.std(axis=0), 1)


def test_cases_are_kept_under_all_that_they_depend_on():
    """Rivals and benchmarks too, not only the package."""
    assert SOURCES == (ROOT / "evaluation", ROOT / "benchmarks")


def committed():
    return json.loads((DOCS / "results.json").read_text())


def test_the_committed_table_answers_every_question():
    found = committed()
    anchors = [row["anchor"] for row in found["rows"]]
    assert len(set(anchors)) == len(anchors)
    assert {anchor[0] for anchor in anchors} == {question.LETTER for question in QUESTIONS}
    overview = (DOCS / "README.md").read_text()
    assert "Quick settings" not in overview
    assert all(f"({question.NAME}.md)" in overview for question in QUESTIONS)
    assert sum(path.stat().st_size for path in DOCS.iterdir()) < 1_000_000


def documents():
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def test_every_row_that_a_document_points_to_is_in_the_committed_table():
    anchors = {row["anchor"] for row in committed()["rows"]}
    named = {anchor: path.name for path in documents() for anchor in ANCHOR.findall(path.read_text())}
    assert named
    assert set(named) <= anchors, {anchor: named[anchor] for anchor in set(named) - anchors}


def test_the_sentences_in_the_list_of_comparisons_are_still_there():
    """Each is quoted from the file that its heading names, line breaks aside."""
    parts = re.split(r"^## ", (ROOT / "docs" / "claims.md").read_text(), flags=re.MULTILINE)[1:]
    assert parts
    for part in parts:
        name, _, text = part.partition("\n")
        there = " ".join((ROOT / name.strip()).read_text().split())
        quotes = re.findall(r"^> (.*(?:\n> .*)*)", text, flags=re.MULTILINE)
        assert quotes
        for quote in quotes:
            words = " ".join(quote.replace("\n> ", " ").split())
            assert words in there, f"{name} no longer says: {words}"
            after = text[text.index(quote) + len(quote) :].split("\n> ")[0]
            assert ANCHOR.search(after) or "benchmarks/results/" in after, f"nothing supports: {words}"


def test_a_rival_that_is_not_installed_is_left_out_and_named(monkeypatch):
    monkeypatch.setattr(methods, "find_spec", lambda name: None)
    assert list(methods.methods_for(10, 100)) == list(methods.METHODS)
    assert "process-improve" not in methods.present()
    text = page._overview([], {}, quick=False)
    assert "Left out: AdaptivePCA, because process-improve is not installed" in text
