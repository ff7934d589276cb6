"""The report's script against the closed forms it repeats, in Node.js where there is one."""

import json
import shutil
import subprocess
from importlib.resources import files

import numpy as np
import pytest

from eigenstream import theory
from eigenstream.regularizers import InputOutput, ScaleDependent, SquaredOutput

NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(NODE is None, reason="there is no node on this computer")

PAGE = """
const made = [];
class Node {
  constructor(tag) {
    Object.assign(this, {tag, children: [], attributes: {}, listeners: []});
    made.push(this);
  }
  setAttribute(name, value) { this.attributes[name] = String(value); }
  append(...nodes) { this.children.push(...nodes); }
  replaceChildren(...nodes) { this.children = nodes; }
  addEventListener(_, f) { this.listeners.push(f); }
}
const named = name => Object.assign(new Node("div"), {dataset: {try: name}});
const hosts = ["curves", "phases", "change"].map(named);
globalThis.document = {
  createElement: tag => new Node(tag),
  createElementNS: (_, tag) => new Node(tag),
  querySelectorAll: () => hosts,
};
globalThis.window = globalThis;
"""


def run(question):
    """What the script's functions answer, and everything it has put on a page of stand-ins."""
    script = files("eigenstream.paper.reproduction").joinpath("sliders.js").read_text()
    ask = f"console.log(JSON.stringify(({question})(window.eigenstreamSliders)));"
    code = PAGE + script + ask
    done = subprocess.run([NODE, "-e", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    ("kind", "symbol"), [(ScaleDependent, "TY"), (InputOutput, "XY"), (SquaredOutput, "YY")]
)
@pytest.mark.parametrize("strict", [False, True])
def test_shares_of_pairs_are_those_of_the_transmission_curve(kind, symbol, strict):
    curve = theory.transmission_curve(kind, strict=strict, n1=7, n2=12)
    steps = np.linspace(0, len(curve.alpha) - 2, 9).astype(int)
    alphas = [float(curve.alpha[i] + curve.alpha[i + 1]) / 2 for i in steps]
    asked = f"s => {alphas}.map(a => s.transmitted('{symbol}', a, 7, 12, {str(strict).lower()}))"
    expected = np.column_stack((curve.noise_fraction[steps], curve.signal_fraction[steps]))
    np.testing.assert_allclose(run(asked), expected)


def test_outputs_of_the_squared_output_regularizer_are_the_closed_form():
    cases = [(alpha, r) for alpha in (0.003, 0.05, 0.4, 20.0) for r in (0.01, 0.3, 0.7, 0.99)]
    found = run(f"s => {[list(case) for case in cases]}.map(([a, r]) => s.yyOutput(a, r, 7, 12))")
    for (alpha, r), (signal, noise) in zip(cases, found, strict=True):
        d = SquaredOutput(alpha).shrink(theory.two_level_spectrum(1.0, r, 7, 12))
        assert (signal, noise) == pytest.approx((d[0], d[-1]), abs=1e-12)


def test_sliders_draw_and_redraw_without_a_number_that_is_none():
    asked = """s => {
        const ranges = made.filter(n => n.type === "range");
        ranges.forEach(n => { n.value = n.max; n.listeners.forEach(f => f()); });
        const shapes = made.filter(n => ["path", "circle"].includes(n.tag));
        const drawn = shapes.map(n => JSON.stringify(n.attributes));
        const bad = drawn.filter(text => /NaN|undefined/.test(text));
        return [hosts.map(h => h.children.length), drawn.length, bad.length];
    }"""
    hosts, drawn, bad = run(asked)
    assert hosts == [2, 2, 2]
    assert drawn > 10
    assert bad == 0


def test_dots_are_of_the_run_whose_own_threshold_is_nearest():
    """ "alpha times" moves the threshold, of each regularizer by another amount."""
    runs = [{"threshold": t, "beta": b} for t in (2, 2.5, 3) for b in (0.95, 0.995, 1)]
    asked = f"""s => ["TY", "XY", "YY"].map(kind => [1, 1.5].map(times =>
        s.nearest({json.dumps(runs)}, s.thresholdOf[kind](times * s.alphaFor[kind](2), 1), 0.994)))"""
    for kind, (plain, larger) in zip((ScaleDependent, InputOutput, SquaredOutput), run(asked), strict=True):
        assert plain == {"threshold": 2, "beta": 0.995}
        lam = np.r_[6.0, 5.0, 4.0, 2.0, np.full(60, 0.1)]
        moved = kind(1.5 * kind.for_threshold(lam, 2.0).alpha).threshold(lam)
        assert larger["threshold"] == min((2, 2.5, 3), key=lambda t: abs(t - moved))


@pytest.mark.parametrize(
    ("kind", "symbol"), [(ScaleDependent, "TY"), (InputOutput, "XY"), (SquaredOutput, "YY")]
)
def test_fig_6_is_the_closed_form_before_while_and_after_the_input_is_doubled(kind, symbol):
    lam = np.r_[6.0, 5.0, 4.0, 2.0, np.full(60, 0.1)]
    regularizer = kind.for_threshold(lam, 2.5)
    found = dict(run(f"s => s.closedForm('{symbol}', s.alphaFor.{symbol}(2.5), 0.995)"))
    for T, factor in ((1000, 1), (6000, 2), (10_000, 1)):
        np.testing.assert_allclose(found[T], regularizer.shrink(factor * lam)[:4], atol=0.02)
    # Without forgetting the mean over all samples is what the threshold is measured by.
    late = dict(run(f"s => s.closedForm('{symbol}', s.alphaFor.{symbol}(2.5), 1)"))[10_000]
    scale = (5000 * 2 + 5000) / 10_000
    gains = regularizer.shrink(scale * lam)[:4] / (scale * lam[:4])
    np.testing.assert_allclose(late, gains * lam[:4], atol=0.06)
