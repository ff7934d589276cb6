// Runs once in every browser, when the document is there. `link` is the model that both sides see:
// `link.values` comes from the server, the other properties tell it what was clicked. `sources` and `ranges`
// are what the `figures` are drawn from, `inks` what they are drawn with.
const at = (id) => document.getElementById(id)
const quietly = {sync: false, check_eq: false}  // what the server need not be told
const press = (id, on) => at(id).setAttribute("aria-pressed", String(on))

function paint() {
  const ink = inks[document.documentElement.dataset.theme]
  const axis = {axis_label_text_color: ink.text, major_label_text_color: ink.text,
                axis_line_color: ink.grid, major_tick_line_color: ink.grid}
  for (const figure of figures) {
    for (const model of [...figure.below, ...figure.left]) model.setv(axis, quietly)
    for (const model of figure.center) model.setv({grid_line_color: ink.grid}, quietly)
    for (const {name, glyph} of figure.renderers) {
      const property = glyph.properties.line_color != null ? "line_color" : "fill_color"
      if (name in ink) glyph.setv({[property]: {value: ink[name]}}, quietly)
    }
  }
}

function setTheme(dark) {
  document.documentElement.dataset.theme = dark ? "dark" : "light"
  paint()
}

function setState(state, message = "") {
  at("state").dataset.state = at("state").textContent = state
  at("pause").disabled = ["finished", "disconnected"].includes(state)
  at("message").textContent = at("message").title = message
}

function showEvents(events) {
  const rows = events.map(([sample, before, after]) => {
    const row = document.createElement("tr")
    row.className = after > before ? "up" : "down"
    for (const text of [sample.toLocaleString("en"), `${before} → ${after}`]) {
      row.insertCell().textContent = text
    }
    return row
  })
  at("events").replaceChildren(...rows)
}

// What people do about alarms. The job decides whether it can be; the page shows what came of it.
let asked = 0
function ask(message) {
  asked += 1
  link.clicked = {...message, number: asked}
}

function button(text, title, message) {
  const made = document.createElement("button")
  made.textContent = text
  made.title = made.ariaLabel = title
  made.onclick = () => ask(message)
  return made
}

const LEAST_BLAMED = 2  // percent; less is the noise of the others
const chosenKey = () => link.values.key ? {key: link.values.key} : {}  // of a fleet

function shelfButtons(name) {  // of the chosen key as a whole, if the name is empty
  const place = document.createElement("div"), {key} = chosenKey()
  place.className = "shelve"
  const {times, shelved} = link.values.handled, whole = name == "" ? "the whole key" : ""
  const taken = shelved.some((one) => one.name == name && (one.key == null || one.key == key))
  place.append(taken ? `${whole} shelved` : `Shelve ${whole} `)
  const what = key == null ? name : whole ? key : `${name} of ${key}`
  if (!taken) place.append(...times.map(([time, label]) =>
    button(label, `Shelve ${what} for ${label}`, {shelve: name, time, ...chosenKey()})))
  return place
}

function showShelved() {
  const {times, shelved} = link.values.handled
  at("shelved").replaceChildren(...shelved.map(({name, key, words, until}) => {
    const line = document.createElement("div"), text = document.createElement("span")
    text.textContent = text.title = `${words} is shelved until ${until}`
    line.append(text)
    const message = {unshelve: name, ...(key == null ? {} : {key})}
    if (times.length > 0) line.append(button("Unshelve", `Unshelve ${words}`, message))
    return line
  }))
}

function showHandle(alarm) {
  const {handled} = link.values, whole = at("shelve-key")
  if (handled == null) return
  const idle = handled.times.length == 0 || (whole == null ? alarm == null : link.values.key == "")
  at("handle").hidden = idle && (whole != null || handled.shelved.length == 0)
  whole?.replaceChildren(...(idle ? [] : [shelfButtons("")]))
  at("acknowledge").hidden = alarm == null || alarm.acknowledged != "" || handled.times.length == 0
  at("acknowledge").onclick = () => ask({acknowledge: alarm.key, ...chosenKey()})
  at("acknowledged").textContent = alarm?.acknowledged ? `acknowledged ${alarm.acknowledged}` : ""
  showShelved()
}

let clicked = null  // the alarm whose inputs are shown; until one is clicked, the latest
let blameShown = null
function showBlame(alarm) {
  // Only if it has changed: a button that is being pressed must not be replaced.
  const key = JSON.stringify([alarm?.key, alarm?.where, alarm?.statistic, alarm?.contributors, alarm?.acknowledged,
                              link.values.handled, link.values.key])
  if (key == blameShown) return
  blameShown = key
  at("blamed").textContent = alarm == null ? "" : `alarm at ${alarm.where}, ${alarm.statistic}`
  const offered = link.values.handled?.times?.length > 0
  const bars = (alarm?.contributors ?? []).map(([name, percent], i) => {
    const bar = document.createElement("div")
    for (const tag of ["span", "i", "span"]) bar.append(document.createElement(tag))
    bar.children[0].textContent = bar.children[0].title = name
    bar.children[1].style.width = `${percent}%`
    bar.children[2].textContent = `${percent} %`
    if (offered && (i == 0 || percent >= LEAST_BLAMED)) bar.append(shelfButtons(name))
    return bar
  })
  at("blame").replaceChildren(...bars)
  showHandle(alarm)
}

function showAlarms(alarms) {
  const chosen = alarms.find(({key}) => key == clicked) ?? alarms[0]
  const rows = alarms.map((alarm) => {
    const row = document.createElement("tr")
    row.dataset.key = alarm.key
    row.dataset.state = alarm.state
    if (alarm.acknowledged) row.dataset.acknowledged = ""
    row.tabIndex = 0
    row.title = alarm.where
    row.ariaSelected = String(alarm == chosen)
    for (const text of [alarm.when, alarm.rows, alarm.peak, alarm.statistic, alarm.state]) {
      row.insertCell().textContent = text
    }
    if (alarm.acknowledged) {
      const mark = document.createElement("small")
      mark.title = `acknowledged ${alarm.acknowledged}`
      mark.textContent = mark.title.replace(/:\d\d UTC/, " UTC")  // seconds would not fit
      row.firstElementChild.append(mark)
    }
    row.onclick = () => { clicked = alarm.key; showAlarms(alarms); link.stretch = "own"; link.alarm = alarm.key }
    row.onkeydown = ({key}) => { if (key == "Enter") row.onclick() }
    return row
  })
  at("alarms").replaceChildren(...rows)
  showBlame(chosen)
}

function showTraces(names) {
  const places = [...document.querySelectorAll("#traces .one")]
  at("traces").hidden = names.length == 0
  places.forEach((place, i) => {
    place.hidden = i >= names.length
    place.firstElementChild.textContent = place.firstElementChild.title = names[i] ?? ""
  })
}

let framing = false
function zoomed() {
  if (!framing) link.stretch = "own"
}

function showCharts({columns, ranges: framed}) {
  for (const [name, changed] of Object.entries(columns)) {
    const fixed = name == "loadings" ? sources[name].data : {}
    sources[name].setv({data: {...fixed, ...changed}}, quietly)
  }
  framing = true
  for (const [name, [start, end]] of Object.entries(framed)) {
    if (name != "samples" || link.stretch != "own") ranges[name].setv({start, end}, quietly)
  }
  framing = false
}

let eventsShown = null
function show() {
  const {tiles, events, alarms, state, message, version, traces} = link.values
  const watching = at("alarms") != null
  if (watching) showTraces(traces)
  showCharts(link.values)
  for (const [id, text] of Object.entries(tiles)) at(id).textContent = text
  const key = JSON.stringify(watching ? [alarms, link.values.handled, link.values.key] : events)
  if (key != eventsShown) watching ? showAlarms(alarms) : showEvents(events)
  eventsShown = key
  setState(state, message)
  // Only a browser that has painted gets the next picture: a slow or hidden one is not sent more and more.
  requestAnimationFrame(() => { link.shown = version })
}

function showControls() {
  at("pause").textContent = link.paused ? "Resume" : "Pause"
  press("pause", link.paused)
  for (const name of ["whole", "recent"]) press(name, link.stretch == name)
  if (at("log") == null) return
  press("log", link.log)
  press("linear", !link.log)
}

at("pause").onclick = () => { link.paused = !link.paused }
at("whole").onclick = () => { link.stretch = "whole" }
at("recent").onclick = () => { link.stretch = "recent" }
if (at("log") != null) {
  at("log").onclick = () => { link.log = true }
  at("linear").onclick = () => { link.log = false }
}
at("theme").onclick = () => setTheme(document.documentElement.dataset.theme == "light")
const night = matchMedia("(prefers-color-scheme: dark)")
night.addEventListener("change", () => setTheme(night.matches))

const {values, paused, stretch, log} = link.properties
values.change.connect(show)
for (const property of [paused, stretch, log]) property.change.connect(showControls)
for (const end of ["start", "end"]) ranges.samples.properties[end].change.connect(zoomed)
link.document.on_event("connection_lost", () => setState("disconnected", "the server has gone"))
link.document.on_event("client_reconnected", () => location.reload())

// A finger that moves up or down scrolls the page; sideways it moves the chart.
for (const id of Object.keys(Bokeh.index)) {
  const surface = Bokeh.index[id].canvas_view?.events_el
  if (surface != null) surface.style.touchAction = "pan-y"
}

for (const figure of figures) figure.properties.renderers.change.connect(paint)
setTheme(night.matches)
showControls()
show()
document.documentElement.dataset.ready = ""
