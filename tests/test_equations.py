import pytest

from eigenstream.paper.reproduction.equations import to_html, to_text


@pytest.mark.parametrize(
    ("tex", "text"),
    [
        (r"$\alpha \geq \frac{b}{(a-b) n_1}$", "α ≥ b/((a - b) n₁)"),  # noqa: RUF001
        (r"$\|x_T\|^2$", "‖x_T‖²"),
        (r"$\sqrt{k}$ and $\sqrt{k + 1}$", "√k and √(k + 1)"),
        (r"$Y^\top Y$", "Y⊤ Y"),  # noqa: RUF001
        ("no formula, R_XY <b>", "no formula, R_XY <b>"),
    ],
)
def test_plain_text(tex, text):
    assert to_text(tex) == text


@pytest.mark.parametrize(
    ("tex", "html"),
    [
        (r"$\frac{a}{b}$", "<math><mfrac><mrow><mi>a</mi></mrow><mrow><mi>b</mi></mrow></mfrac></math>"),
        ("$W_i^2$", "<math><msubsup><mi>W</mi><mi>i</mi><mn>2</mn></msubsup></math>"),
        ("$a < b$", "<math><mi>a</mi><mo>&lt;</mo><mi>b</mi></math>"),
        ("R_YY & <b>", "R<sub>YY</sub> &amp; &lt;b&gt;"),
    ],
)
def test_mathml(tex, html):
    assert to_html(tex) == html


@pytest.mark.parametrize("tex", [r"$\nonsense$", "$x_$", r"$\frac{a}$"])
def test_a_formula_that_cannot_be_read_is_an_error(tex):
    for show in (to_html, to_text):
        with pytest.raises(ValueError, match=r"formula|sign"):
            show(tex)
