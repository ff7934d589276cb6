// Section III and Fig. 6 in closed form, with sliders. Nothing is loaded; without this script the page lacks only these.
(() => {
  const LOOK = {TY: ["#BB5566", "7 3"], XY: ["#004488", ""], YY: ["#DDAA33", "8 3 2 3"]};
  const NAME = {TY: "scale-dependent", XY: "input-output", YY: "squared-output"};
  const SIZE = 320, PAD = 52, LEVELS = 100;
  const UNIT = [[0, "0"], [0.5, "0.5"], [1, "1"]];
  const said = (kind, text) => Object.assign(document.createElement("p"), {textContent: `${NAME[kind]}: ${text}`, className: kind});

  const svg = (tag, attributes, text = "") => {
    const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    node.textContent = text;
    return node;
  };
  const slider = (host, name, min, max, value, show = String) => {
    const label = document.createElement("label"), input = document.createElement("input");
    const output = document.createElement("output");
    Object.assign(input, {type: "range", min, max, step: "any", value});
    label.append(name, input, output);
    host.append(label);
    return {read: () => { const v = Number(input.value); output.textContent = show(v); return v; }, input};
  };
  const frame = (xLabel, yLabel, xTicks, yTicks) => {
    const picture = svg("svg", {viewBox: `0 0 ${SIZE + 1.5 * PAD} ${SIZE + 1.5 * PAD}`, role: "img", "aria-label": `${yLabel}, against ${xLabel}`});
    picture.append(svg("rect", {x: PAD, y: PAD / 2, width: SIZE, height: SIZE, fill: "none", stroke: "#555"}));
    picture.append(svg("text", {x: PAD + SIZE / 2, y: SIZE + PAD / 2 + 34, "text-anchor": "middle", "font-size": 13}, xLabel));
    picture.append(svg("text", {transform: `translate(11 ${PAD / 2 + SIZE / 2}) rotate(-90)`, "text-anchor": "middle", "font-size": 13}, yLabel));
    const layer = svg("g", {});
    picture.append(layer);
    for (const [u, text] of xTicks) picture.append(svg("text", {x: PAD + u * SIZE, y: SIZE + PAD / 2 + 16, "text-anchor": "middle", "font-size": 12}, text));
    for (const [u, text] of yTicks) picture.append(svg("text", {x: PAD - 5, y: PAD / 2 + (1 - u) * SIZE + 4, "text-anchor": "end", "font-size": 12}, text));
    return {picture, layer, x: u => PAD + u * SIZE, y: u => PAD / 2 + (1 - u) * SIZE};
  };
  const path = (f, points, look, extra = {}) => svg("path", {
    d: points.map(([u, v], i) => `${i ? "L" : "M"}${f.x(u).toFixed(1)} ${f.y(v).toFixed(1)}`).join(""),
    fill: "none", stroke: look[0], "stroke-width": 2.2, "stroke-dasharray": look[1], ...extra,
  });

  // Where signal (level a) and noise (level b) fall silent: Table I.
  const silent = {
    TY: (a, b) => [a, b],
    XY: (a, b, n1, n2) => [a / (n1 * a + n2 * b), b / (n1 * a + n2 * b)],
    YY: (a, b, n1) => [Infinity, a > b ? b / ((a - b) * n1) : Infinity],
  };
  const critical = (kind, n1, n2, strict) => {
    const signal = [], noise = [];
    for (let i = 1; i <= LEVELS; i++) for (let j = 1; j <= (strict ? i - 1 : i); j++) {
      const [s, n] = silent[kind](i / LEVELS, j / LEVELS, n1, n2);
      signal.push(s); noise.push(n);
    }
    return [Float64Array.from(noise).sort(), Float64Array.from(signal).sort()];
  };
  const shareAbove = (sorted, alpha) => {                    // by bisection: how many fall silent later
    let low = 0, high = sorted.length;
    while (low < high) { const middle = (low + high) >> 1; if (sorted[middle] > alpha) high = middle; else low = middle + 1; }
    return 1 - low / sorted.length;
  };
  const transmitted = (kind, alpha, n1, n2, strict) =>
    critical(kind, n1, n2, strict).map(sorted => shareAbove(sorted, alpha));
  const curves = host => {
    const controls = document.createElement("div"), row = document.createElement("div"), told = document.createElement("div");
    row.className = "row";
    const power = v => (10 ** v).toPrecision(3);
    const alpha = slider(controls, "α", -3, 1.5, Math.log10(0.05), power);
    const n1 = slider(controls, "n₁", 1, 40, 10, v => Math.round(v)), n2 = slider(controls, "n₂", 1, 40, 10, v => Math.round(v));
    const strict = document.createElement("input"), box = document.createElement("label");
    Object.assign(strict, {type: "checkbox", checked: true});
    box.append("a > b only", strict);
    controls.append(box);
    const f = frame("share of pairs whose noise is transmitted", "share of pairs whose signal is transmitted", UNIT, UNIT);
    row.append(f.picture, told);
    host.append(controls, row);
    const draw = () => {
      const a = 10 ** alpha.read(), m1 = Math.round(n1.read()), m2 = Math.round(n2.read());
      const words = [];
      f.layer.replaceChildren();
      for (const kind of Object.keys(silent)) {
        const points = [], sorted = critical(kind, m1, m2, strict.checked);
        const shares = value => sorted.map(values => shareAbove(values, value));
        for (let e = -4; e <= 2; e += 0.02) points.push(shares(10 ** e));
        const [noise, signal] = shares(a);
        f.layer.append(path(f, points, LOOK[kind]));
        f.layer.append(svg("circle", {cx: f.x(noise), cy: f.y(signal), r: 6, fill: LOOK[kind][0], stroke: "#111"}));
        words.push(said(kind, `noise of ${(100 * noise).toFixed(1)} %, signal of ${(100 * signal).toFixed(1)} % of the pairs`));
      }
      told.replaceChildren(...words);
    };
    for (const input of [alpha.input, n1.input, n2.input, strict]) input.addEventListener("input", draw);
    draw();
  };
  const phases = host => {
    const LOW = Math.log10(0.003), HIGH = Math.log10(30);
    const controls = document.createElement("div"), row = document.createElement("div"), told = document.createElement("div");
    row.className = "row";
    const alpha = slider(controls, "α", LOW, HIGH, Math.log10(0.05), v => (10 ** v).toPrecision(3));
    const ratio = slider(controls, "b/a", 0.01, 0.99, 0.3, v => v.toFixed(2));
    const n1 = slider(controls, "n₁", 1, 40, 10, v => Math.round(v)), n2 = slider(controls, "n₂", 1, 40, 10, v => Math.round(v));
    const f = frame("noise-to-signal ratio b/a", "α", UNIT, [0.01, 0.1, 1, 10].map(v => [(Math.log10(v) - LOW) / (HIGH - LOW), String(v)]));
    row.append(f.picture, told);
    host.append(controls, row);
    const height = value => Math.min(1, Math.max(0, (Math.log10(value) - LOW) / (HIGH - LOW)));
    const draw = () => {
      const a = 10 ** alpha.read(), r = ratio.read(), m1 = Math.round(n1.read()), m2 = Math.round(n2.read());
      f.layer.replaceChildren();
      for (const kind of ["XY", "YY"]) {
        const low = [], high = [];
        for (let u = 0.002; u < 1; u += 0.004) {
          const [s, n] = silent[kind](1, u, m1, m2);
          low.push([u, height(n)]); high.unshift([u, height(s)]);
        }
        const look = LOOK[kind];
        f.layer.append(path(f, [...low, ...high], look, {fill: look[0], "fill-opacity": 0.3, "stroke-width": 1.5}));
      }
      f.layer.append(svg("circle", {cx: f.x(r), cy: f.y(height(a)), r: 6, fill: "#111"}));
      const total = m1 + m2 * r;
      const output = {TY: null, XY: [1 - a * total, r - a * total], YY: yyOutput(a, r, m1, m2)};
      told.replaceChildren(...["XY", "YY"].map(kind => {
        const [s, n] = output[kind].map(v => Math.max(v, 0));
        const goal = s > 0 && n === 0 ? "goal reached" : s > 0 ? "noise passes, too" : "silent";
        return said(kind, `signal ${(100 * s).toFixed(1)} %, noise ${(100 * n).toFixed(1)} % of a: ${goal}`);
      }));
    };
    for (const input of [alpha.input, ratio.input, n1.input, n2.input]) input.addEventListener("input", draw);
    draw();
  };
  const yyOutput = (alpha, r, n1, n2) => {
    const alone = alpha * n1 / (1 + alpha * n1);            // theta with the signal alone
    if (r <= alone) return [1 - alone, 0];
    const theta = alpha * (n1 + n2 * r) / (1 + alpha * (n1 + n2));
    return [1 - theta, r - theta];
  };
  // Fig. 6: the closed form of the discounted input, whose variance doubles at 1,000 and returns at 6,000.
  const LAM = [6, 5, 4, 2], NOISE = 0.1, N_NOISE = 60, TOTAL = 17 + N_NOISE * NOISE, END = 10000, STEP = 20, RECENT = 1000;
  const alphaFor = {
    TY: theta => theta,
    XY: theta => theta / TOTAL,
    YY: theta => theta / LAM.reduce((sum, lam) => sum + Math.max(lam - theta, 0), 0),
  };
  const factorAt = T => (T > 1000 && T <= 6000 ? 2 : 1);
  const thresholdOf = {
    TY: alpha => alpha,
    XY: (alpha, scale) => alpha * TOTAL * scale,
    YY: (alpha, scale) => {                                  // the largest p whose weakest mode is above
      let theta = 0, sum = 0;
      for (const [i, lam] of LAM.entries()) {
        sum += lam * scale;
        const next = alpha * sum / (1 + alpha * (i + 1));
        if (lam * scale < next) break;
        theta = next;
      }
      return theta;
    },
  };
  const closedForm = (kind, alpha, beta) => {                // [T, four output eigenvalues over the last 1,000 samples]
    const rows = [], keep = beta ** (2 * STEP);
    let weight = 0, moment = 0;
    for (let T = STEP; T <= END; T += STEP) {
      const added = beta < 1 ? (1 - keep) / (1 - beta ** 2) : STEP;
      weight = keep * weight + added;
      moment = keep * moment + added * factorAt(T);
      const scale = moment / weight, theta = thresholdOf[kind](alpha, scale);
      rows.push([T, LAM.map(lam => Math.max(1 - theta / (lam * scale), 0) * lam * factorAt(T))]);
    }
    const span = RECENT / STEP;
    return rows.map(([T], i) => {
      const last = rows.slice(Math.max(0, i + 1 - span), i + 1);
      return [T, LAM.map((_, j) => last.reduce((sum, [, d]) => sum + d[j], 0) / last.length)];
    });
  };
  // The recorded run whose threshold (on the input as it begins) and memory are nearest; alpha times is in the threshold.
  const nearest = (runs, threshold, beta) => {
    const memory = b => Math.log10(1 - Math.min(b, 0.99995) ** 2);
    const apart = run => Math.abs(run.threshold - threshold) + Math.abs(memory(run.beta) - memory(beta));
    return [...runs].sort((a, b) => apart(a) - apart(b))[0];
  };
  const change = host => {
    const runs = JSON.parse(host.dataset.recorded || "[]"), TOP = 14;
    const controls = document.createElement("div"), row = document.createElement("div"), told = document.createElement("div");
    row.className = "row";
    const theta = slider(controls, "θ", 0.5, 5.5, 2, v => v.toFixed(2));
    const detune = slider(controls, "α times", -1, 1, 0, v => (2 ** v).toFixed(2));
    const memory = slider(controls, "β", 1, 4, Math.log10(100), v => (v >= 4 ? "1" : Math.sqrt(1 - 10 ** -v).toFixed(4)));
    const frames = Object.fromEntries(["TY", "XY", "YY"].map(kind => [kind, frame(`samples T, ${NAME[kind]}`, "output eigenvalue",
      [[0, "0"], [0.1, "1,000"], [0.6, "6,000"], [1, "10,000"]], [0, 4, 8, 12].map(v => [v / TOP, String(v)]))]));
    row.append(...Object.values(frames).map(f => f.picture), told);
    host.append(controls, row);
    const draw = () => {
      const level = theta.read(), times = 2 ** detune.read(), v = memory.read(), beta = v >= 4 ? 1 : Math.sqrt(1 - 10 ** -v);
      const words = [];
      for (const [kind, f] of Object.entries(frames)) {
        const alpha = times * alphaFor[kind](level), course = closedForm(kind, alpha, beta);
        const run = nearest(runs, thresholdOf[kind](alpha, 1), beta);
        f.layer.replaceChildren();
        LAM.forEach((_, i) => {
          const look = i === 3 ? ["#111", ""] : [LOOK[kind][0], ""];
          f.layer.append(path(f, course.map(([T, d]) => [T / END, Math.min(d[i] / TOP, 1)]), look));
          if (run) run.times.forEach((T, t) => f.layer.append(svg("circle", {cx: f.x(T / END), cy: f.y(Math.min(run.output[kind][t][i] / TOP, 1)), r: 2, fill: look[0], "fill-opacity": 0.6})));
        });
        const dots = run ? `; dots: threshold ${run.threshold}, β = ${run.beta}` : "";
        words.push(said(kind, `α = ${alpha.toPrecision(3)}; fourth at 6,000: ${course.find(([T]) => T === 6000)[1][3].toFixed(2)}${dots}`));
      }
      if (runs.length) words.push(Object.assign(document.createElement("p"), {textContent: "Lines: closed form. Dots: of the networks that were run, the one whose threshold and β are nearest to these."}));
      told.replaceChildren(...words);
    };
    for (const input of [theta.input, detune.input, memory.input]) input.addEventListener("input", draw);
    draw();
  };
  const make = {curves, phases, change};
  for (const host of document.querySelectorAll("[data-try]")) make[host.dataset.try](host);
  window.eigenstreamSliders = {transmitted, yyOutput, silent, closedForm, alphaFor, thresholdOf, nearest};
})();
