
// The list of all keys. Only the rows in sight exist: thousands of keys cost no more than a screenful.
const ROW = 30  // pixels, as in page.css
const fleet = {keys: [], why: [], now: [], on: [], seen: [], events: [], past: [], points: 32, of: "severity"}
let order = []
let shelves = new Map()  // of each key, in words
const pool = []

function arrange() {
  const {keys, now, on, seen, events} = fleet
  const waits = (i) => on[i] ? 2 - seen[i] : 0  // alarms that nobody has acknowledged are on top
  const wanted = at("filter").value.trim().toLowerCase()
  const by = {
    now: (a, b) => waits(b) - waits(a) || now[b] - now[a] || a - b,
    events: (a, b) => events[b] - events[a] || now[b] - now[a] || a - b,
    name: (a, b) => keys[a].localeCompare(keys[b], "en", {numeric: true}),
  }[at("sorted").value]
  order = [...keys.keys()].filter((i) => !wanted || keys[i].toLowerCase().includes(wanted)).sort(by)
  at("key-space").style.height = `${order.length * ROW}px`
  at("key-found").textContent = wanted ? `${order.length.toLocaleString("en")} of ${keys.length.toLocaleString("en")}` : ""
  drawKeys()
}

function spark(canvas, number) {
  const scale = devicePixelRatio || 1, width = 110, height = ROW - 8
  if (canvas.width != width * scale) { canvas.width = width * scale; canvas.height = height * scale }
  const context = canvas.getContext("2d"), style = getComputedStyle(document.documentElement)
  context.setTransform(scale, 0, 0, scale, 0, 0)
  context.clearRect(0, 0, width, height)
  const own = Array.from({length: fleet.points}, (_, i) => fleet.past[number * fleet.points + i])
  const ranks = fleet.of == "rank"
  const most = ranks ? Math.max(Math.max(...own) - 1, 1) : 254
  const y = (level) => height - 1 - (height - 2) * (level - 1) / most
  const line = ranks ? 1 : 128  // rank 0, or the limit
  context.strokeStyle = style.getPropertyValue("--faint")
  context.setLineDash([3, 3])
  context.beginPath(); context.moveTo(0, y(line)); context.lineTo(width, y(line)); context.stroke()
  context.setLineDash([])
  context.strokeStyle = style.getPropertyValue(fleet.on[number] ? "--bad" : "--accent")
  context.lineWidth = 1.4
  context.beginPath()
  let last = fleet.points - 1
  while (last > 0 && own[last] == 0) last -= 1
  for (let i = 0; i <= last; i++) {
    const level = own[i]
    if (level > 0) context.lineTo(width * i / Math.max(last, 1), y(level))
  }
  context.stroke()
  const only = own[0]
  if (last == 0 && only > 0) {
    context.fillStyle = context.strokeStyle
    context.fillRect(0, y(only) - 1, 3, 2)
  }
}

function emptyRow() {
  const row = document.createElement("div")
  row.className = "key-row"
  row.tabIndex = 0
  for (const tag of ["b", "canvas", "span", "span", "small"]) row.append(document.createElement(tag))
  row.onclick = () => { link.key = fleet.keys[row.number]; drawKeys() }
  row.onkeydown = ({key}) => { if (key == "Enter") row.onclick() }
  at("key-space").append(row)
  return row
}

function drawKeys() {
  const list = at("keys"), first = Math.max(Math.floor(list.scrollTop / ROW) - 2, 0)
  const count = Math.min(Math.ceil(list.clientHeight / ROW) + 4, order.length - first)
  while (pool.length < count) pool.push(emptyRow())
  pool.forEach((row, i) => {
    row.hidden = i >= count
    if (i >= count) { delete row.dataset.key; return }
    const number = order[first + i], value = fleet.now[number]
    row.number = number
    row.dataset.key = fleet.keys[number]
    row.style.transform = `translateY(${(first + i) * ROW}px)`
    row.dataset.on = String(Boolean(fleet.on[number]))
    row.dataset.seen = String(Boolean(fleet.seen[number]))
    const shelved = shelves.get(fleet.keys[number]) ?? []
    row.dataset.shelved = String(shelved.length > 0)
    row.ariaSelected = String(fleet.keys[number] == link.key)
    const [name, line, now, events, why] = row.children
    name.textContent = fleet.keys[number]
    name.title = [fleet.keys[number], ...(fleet.seen[number] ? ["acknowledged"] : []), ...shelved].join("; ")
    spark(line, number)
    now.textContent = value < 0 ? "–" : fleet.of == "rank" ? String(value) : value.toPrecision(3)
    events.textContent = fleet.events[number] ? String(fleet.events[number]) : ""
    why.textContent = why.title = [fleet.why[number], ...shelved].filter(Boolean).join("; ")
  })
}

function showFleet() {
  const {fleet: told, key, handled} = link.values
  document.documentElement.dataset.chosen = String(key != "")
  at("chosen").textContent = link.key == "" ? "click a key for its charts" : link.key
  if (told == null) return
  shelves = new Map()
  for (const {key: of, name, until} of handled?.shelved ?? []) {
    shelves.set(of, [...shelves.get(of) ?? [], `${name} shelved until ${until}`.trim()])
  }
  Object.assign(fleet, told)
  arrange()
}

at("filter").oninput = () => { at("keys").scrollTop = 0; arrange() }
at("sorted").onchange = arrange
at("keys").onscroll = () => requestAnimationFrame(drawKeys)
new ResizeObserver(drawKeys).observe(at("keys"))
new MutationObserver(drawKeys).observe(document.documentElement, {attributeFilter: ["data-theme"]})
link.properties.values.change.connect(showFleet)
showFleet()
