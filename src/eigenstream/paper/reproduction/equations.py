r"""Formulas in claims, captions and tables: a little TeX between dollar signs, shown as MathML or text.

The subset is what the paper's formulas need: letters, numbers, ``^`` and ``_``, ``\frac``, ``\sqrt``, Greek
letters and a few signs. Outside dollar signs, ``R_XY`` is set as a symbol with its index.
"""

from __future__ import annotations

import re
from html import escape

# ruff: noqa: RUF001

SIGNS = {
    "alpha": "α", "beta": "β", "gamma": "γ", "eta": "η", "mu": "μ", "lambda": "λ", "theta": "θ",
    "Lambda": "Λ", "leq": "≤", "geq": "≥", "infty": "∞", "sum": "∑", "top": "⊤", "to": "→", "times": "×",
    "neq": "≠", "in": "∈", "min": "min", "ln": "ln", "Tr": "Tr", "max": "max", "ldots": "…", "cdot": "·",
    "propto": "∝", "approx": "≈",
}  # fmt: skip
OPERATORS = set("≤≥∑→×≠∈·∝≈")
MINUS = "\N{MINUS SIGN}"
WORDS = {"min", "max", "ln", "Tr"}
TOKEN = re.compile(r"\\[A-Za-z]+|\\\||\d+(?:\.\d+)?|[A-Za-z]|\S")
FORMULA = re.compile(r"\$([^$]+)\$")
SYMBOL = re.compile(r"\bR_(TY|XY|YY)\b")
RAISED = str.maketrans("0123456789+-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻")
LOWERED = str.maketrans("0123456789+-", "₀₁₂₃₄₅₆₇₈₉₊₋")


def to_html(text: str) -> str:
    """Text with formulas, as HTML with MathML.

    Examples
    --------
    >>> to_html("R_XY & $a_1$")
    'R<sub>XY</sub> &amp; <math><msub><mi>a</mi><mn>1</mn></msub></math>'
    """
    parts, end = [], 0
    for found in FORMULA.finditer(text):
        parts += [_symbols(text[end : found.start()]), f"<math>{_Reader(found[1]).mathml()}</math>"]
        end = found.end()
    return "".join([*parts, _symbols(text[end:])])


def to_text(text: str) -> str:
    r"""Text with formulas, in plain characters.

    Examples
    --------
    >>> to_text(r"passes while $\alpha < \frac{a}{n_1 a + n_2 b}$")
    'passes while α < a/(n₁ a + n₂ b)'
    """
    return FORMULA.sub(lambda found: _Reader(found[1]).text(), text)


def _symbols(text: str) -> str:
    return SYMBOL.sub(r"R<sub>\1</sub>", escape(text))


class _Reader:
    """Reads one formula from left to right."""

    def __init__(self, tex: str) -> None:
        self.tokens = TOKEN.findall(tex)
        self.place = 0

    def mathml(self) -> str:
        return "".join(self._all(_MathML()))

    def text(self) -> str:
        joined = " ".join(self._all(_Text()))
        joined = re.sub(r"\s*([)\]|,])", r"\1", re.sub(r"([(\[|])\s*", r"\1", joined))
        joined = re.sub(r"(^|[(=] ?)- (?=[\dA-Za-z])", r"\1-", joined)
        return re.sub(r"\s*‖\s*", "‖", re.sub(r"\s+", " ", joined)).strip()

    def _all(self, form: _MathML | _Text, end: str = "") -> list[str]:
        found = []
        while self.place < len(self.tokens) and self.tokens[self.place] != end:
            found.append(self._scripted(form))
        self.place += bool(end)
        return found

    def _scripted(self, form: _MathML | _Text) -> str:
        """One symbol with whatever is written below and above it."""
        base, scripts = self._one(form), dict[str, str]()
        while self.place < len(self.tokens) and self.tokens[self.place] in "_^":
            sign = self.tokens[self.place]
            self.place += 1
            scripts[sign] = self._one(form)
        return form.scripted(base, scripts.get("_"), scripts.get("^"))

    def _one(self, form: _MathML | _Text) -> str:
        if self.place >= len(self.tokens):
            raise ValueError(f"the formula ends too early: {' '.join(self.tokens)}")
        token = self.tokens[self.place]
        self.place += 1
        if token == "{":
            return form.group(self._all(form, "}"))
        if token == "\\frac":
            return form.fraction(self._one(form), self._one(form))
        if token == "\\sqrt":
            return form.root(self._one(form))
        if token.startswith("\\") and token != "\\|":
            if token[1:] not in SIGNS:
                raise ValueError(f"no such sign in formulas: {token}")
            return form.symbol(SIGNS[token[1:]])
        return form.symbol("‖" if token == "\\|" else token)


class _MathML:
    def symbol(self, token: str) -> str:
        if token[0].isdigit():
            return f"<mn>{token}</mn>"
        if token in WORDS:
            return f"<mi>{token}</mi><mo>&#x2061;</mo>"
        kind = "mo" if token in OPERATORS or not (token.isalpha() or token == "∞") else "mi"
        return f"<{kind}>{escape(token.replace('-', MINUS))}</{kind}>"

    def group(self, parts: list[str]) -> str:
        return f"<mrow>{''.join(parts)}</mrow>"

    def fraction(self, above: str, below: str) -> str:
        return f"<mfrac>{above}{below}</mfrac>"

    def root(self, inner: str) -> str:
        return f"<msqrt>{inner}</msqrt>"

    def scripted(self, base: str, below: str | None, above: str | None) -> str:
        if below and above:
            return f"<msubsup>{base}{below}{above}</msubsup>"
        if below or above:
            tag = "msub" if below else "msup"
            return f"<{tag}>{base}{below or above}</{tag}>"
        return base


class _Text:
    def symbol(self, token: str) -> str:
        return token

    def group(self, parts: list[str]) -> str:
        return " ".join(parts)

    def fraction(self, above: str, below: str) -> str:
        return f"{self._together(above)}/{self._together(below)}"

    def root(self, inner: str) -> str:
        return f"√{self._together(inner)}"

    def scripted(self, base: str, below: str | None, above: str | None) -> str:
        if below is not None:
            base += below.translate(LOWERED) if below.isdigit() else f"_{self._together(below)}"
        if above is not None:
            raised = above.isdigit() or above == "⊤"
            base += above.translate(RAISED) if raised else f"^{self._together(above)}"
        return base

    def _together(self, part: str) -> str:
        return f"({part})" if " " in part else part
