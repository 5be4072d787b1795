// What the page does when it is touched: who reads it, tables that sort, numbers under the pointer, what-if.
(() => {
  const $ = (id) => document.getElementById(id);
  const all = (query, root = document) => [...root.querySelectorAll(query)];
  document.documentElement.classList.add("live");

  // Manager, engineer, auditor: each sees the sections that are meant for them; the place in the address keeps the choice.
  const views = all("[data-view]");
  const show = (name) => {
    document.body.dataset.shown = name;
    views.forEach((button) => button.setAttribute("aria-pressed", String(button.dataset.view === name)));
    all("nav a").forEach((link) => {
      const section = $(link.hash.slice(1));
      link.hidden = section !== null && getComputedStyle(section).display === "none";
    });
  };
  views.forEach((button) => button.addEventListener("click", () => show(button.dataset.view)));
  const reveal = () => {
    const place = location.hash.length > 1 ? $(decodeURIComponent(location.hash.slice(1))) : null;
    const section = place && place.closest("section");
    if (section && getComputedStyle(section).display === "none") {
      show("auditor");
      place.scrollIntoView();
    }
  };
  all("[data-views]").forEach((box) => (box.hidden = false));
  if (views.length) show("manager");
  reveal();
  addEventListener("hashchange", reveal);

  // Tables: a button in each head sorts by the number or the word of the cell; the total stays last.
  const valueOf = (cell) => {
    const number = cell.dataset.v === undefined ? NaN : Number(cell.dataset.v);
    return Number.isNaN(number) ? cell.textContent.trim().toLowerCase() : number;
  };
  all("table.sorts").forEach((table) => {
    const body = table.tBodies[0];
    all("thead th", table).forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const up = head.getAttribute("aria-sort") !== "ascending";
        all("th[aria-sort]", table).forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
        const rows = all("tr:not(.total)", body).map((row) => [valueOf(row.cells[column]), row]);
        rows.sort(([a], [b]) => {
          const apart = typeof a !== typeof b ? (typeof a === "number" ? -1 : 1) : a < b ? -1 : a > b ? 1 : 0;
          return up ? apart : -apart;
        });
        rows.forEach(([, row]) => body.append(row));
        all("tr.total", body).forEach((row) => body.append(row));
      });
    });
  });

  // Numbers under the pointer, or at the arrow keys.
  const tip = document.createElement("div");
  tip.id = "tip";
  tip.setAttribute("role", "status");
  tip.hidden = true;
  document.body.append(tip);
  all("[data-told]").forEach((chart) => {
    const [names, places, rows] = JSON.parse(chart.dataset.told);
    const plot = chart.querySelector(".plot");
    const line = document.createElement("i");
    line.className = "cross";
    line.hidden = true;
    plot.append(line);
    let at = -1;
    const tell = (k) => {
      at = k;
      const told = rows.filter(([, , said]) => said[k]).map(([name, colour, said]) => {
        const row = document.createElement("div");
        const key = document.createElement("i");
        key.className = `key ${colour} box`;
        row.append(key, `${name}: ${said[k]}`);
        return row;
      });
      tip.replaceChildren(names[k], ...told);
      tip.hidden = line.hidden = false;
      line.style.left = `${100 * places[k]}%`;
      const box = plot.getBoundingClientRect();
      const x = box.left + box.width * places[k];
      const left = x + 12 + tip.offsetWidth > innerWidth ? x - 12 - tip.offsetWidth : x + 12;
      tip.style.left = `${Math.max(4, Math.min(left, innerWidth - tip.offsetWidth - 4))}px`;
      tip.style.top = `${Math.max(4, box.top - 8)}px`;
    };
    const hide = () => {
      tip.hidden = line.hidden = true;
      at = -1;
    };
    plot.addEventListener("pointermove", (event) => {
      const box = plot.getBoundingClientRect();
      const share = (event.clientX - box.left) / box.width;
      tell(places.reduce((near, place, k) => (Math.abs(place - share) < Math.abs(places[near] - share) ? k : near), 0));
    });
    plot.addEventListener("pointerleave", hide);
    chart.addEventListener("blur", hide);
    chart.addEventListener("keydown", (event) => {
      if (event.key === "Escape") hide();
      if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
      event.preventDefault();
      tell(Math.min(names.length - 1, Math.max(0, at + (event.key === "ArrowRight" ? 1 : -1))));
    });
  });

  // What-if.
  const source = $("whatif-data");
  if (!source) return;
  const data = JSON.parse(source.textContent);
  const doubling = 24;
  const inputs = all("#whatif input");
  const value = (input) => (input.id === "at-rate" ? Number(input.value) / 1000 : 2 ** (Number(input.value) / doubling));
  const money = (usd) => {
    const units = usd / data.usd_per_unit;
    const digits = Math.abs(units) >= 1000 ? 0 : 2;
    const text = Math.abs(units).toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
    return `${units < 0 ? "-" : ""}${data.currency}${text}`;
  };
  const times = (factor) => `${Number(factor.toPrecision(3))}x`;
  const signed = (share) => `${share >= 0 ? "+" : ""}${(100 * share).toFixed(Math.abs(share) < 0.0995 ? 1 : 0)} %`;
  const words = {
    gpu: "prices of GPU hosts",
    api: "prices of tokens",
    demand: "requests",
  };
  const saidOf = (input) => {
    const key = input.id.slice(3);
    const at = value(input);
    if (key === "rate") return `${(100 * at).toFixed(1)} % a year`;
    if (key === "budget") return money(at * data.budget * data.usd_per_unit);
    const [price, unit] = (input.dataset.base || "").split("|");
    return price ? `${times(at)} ($${Number((Number(price) * at).toPrecision(3))} ${unit})` : `${times(at)} today's`;
  };
  const shade = (input, at) => {
    const key = input.id.slice(3);
    const low = Number(input.min);
    const values = Array.from({ length: Number(input.max) - low + 1 }, (_, k) => 2 ** ((low + k) / doubling));
    const found = formulas.range(data, at, key, values, Number(input.value) - low);
    const share = (k) => `calc(.5rem + ${(k / (values.length - 1)).toFixed(4)} * (100% - 1rem))`;
    const strip = input.nextElementSibling;
    strip.style.setProperty("--from", found ? share(found[0]) : "0%");
    strip.style.setProperty("--to", found ? share(found[1]) : "0%");
    if (!found) return null;
    const ends = [found[0] > 0 ? times(values[found[0]]) : null, found[1] < values.length - 1 ? times(values[found[1]]) : null];
    if (!ends[0] && !ends[1]) return `for all ${words[key]} on the slider`;
    if (!ends[0]) return `up to ${ends[1]} for ${words[key]}`;
    return ends[1] ? `from ${ends[0]} to ${ends[1]} for ${words[key]}` : `from ${ends[0]} for ${words[key]}`;
  };
  const row = (name, text, style) => {
    const item = document.createElement("div");
    const term = document.createElement("span");
    const said = document.createElement("b");
    term.textContent = name;
    said.textContent = text;
    if (style) said.className = style;
    item.append(term, said);
    return item;
  };
  const answer = () => {
    const at = { gpu: 1, api: 1, demand: 1, budget: 1, rate: data.rate };
    inputs.forEach((input) => (at[input.id.slice(3)] = value(input)));
    const found = formulas.best(data, at);
    const rows = [row("this fleet, a month", money(found.ours))];
    if (data.budget !== null) {
      const room = at.budget * data.budget * data.usd_per_unit - found.ours;
      rows.push(row("against the budget", `${money(Math.abs(room))} ${room >= 0 ? "under" : "over"}`, room >= 0 ? "met" : "missed"));
    }
    ["everything by API", "everything self-hosted"].forEach((name) => {
      const rival = data.fleets.find((fleet) => fleet.name === name);
      if (rival) {
        const usd = formulas.monthUsd(data, rival, at);
        rows.push(row(name, `${money(usd)} (${signed(usd / found.ours - 1)})`));
      }
    });
    const stays = formulas.stays(data, at);
    const other = data.fleets[found.place].name;
    rows.push(row("best fleet examined", stays ? "this one" : `${other}, ${money(found.ours - found.usd)} a month less`, stays ? "met" : "missed"));
    rows.push(row(`present value of ${data.months.length} months`, money(formulas.presentUsd(data, at))));
    const ranges = inputs.filter((input) => words[input.id.slice(3)]).map((input) => shade(input, at)).filter(Boolean);
    if (ranges.length) rows.push(row("this fleet stays the best", ranges.join("; ")));
    $("answer").replaceChildren(...rows);
    const budget = $("at-budget");
    if (budget) {
      const part = Math.log2(found.ours / (data.budget * data.usd_per_unit)) * doubling - Number(budget.min);
      const place = Math.min(1, Math.max(0, part / (Number(budget.max) - Number(budget.min))));
      budget.nextElementSibling.style.setProperty("--from", `calc(.5rem + ${place.toFixed(4)} * (100% - 1rem))`);
      budget.nextElementSibling.style.setProperty("--to", "100%");
    }
    inputs.forEach((input) => {
      $(`said-${input.id.slice(3)}`).textContent = saidOf(input);
      input.setAttribute("aria-valuetext", saidOf(input));
    });
  };
  inputs.forEach((input) => input.addEventListener("input", answer));
  $("again").addEventListener("click", () => {
    inputs.forEach((input) => (input.value = input.dataset.start));
    answer();
  });
  $("whatif").hidden = false;
  answer();
})();
