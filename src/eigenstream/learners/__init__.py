"""Three learners that keep up to date what the closed form needs, fast.

`scatter` keeps the whole scatter matrix (narrow input), `subspace` its leading directions (everything wider),
`network` the paper's network in accumulator form. Each of them can say what it knows in one form,
`knowledge.Knowledge`; `learner.Learner` is what the rest of the package relies on.
"""
