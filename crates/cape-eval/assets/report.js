// Draws the three kinds of chart that src/report/chart.rs describes, each as wide as its place in the page.
(() => {
  "use strict";
  const charts = JSON.parse(document.getElementById("charts").textContent);

  // A style is a number: its colour is one of Okabe and Ito's or three more (report.css, for light and dark), its
  // mark another for each, so that nobody needs the colour. From 100 on the colours have an order.
  const marks = [
    d3.symbolCircle, d3.symbolSquare, d3.symbolTriangle, d3.symbolDiamond, d3.symbolCross, d3.symbolStar, d3.symbolWye,
  ];
  const dashes = ["", "7 3", "2 3", "9 3 2 3", "4 2", "1 2", "12 4"];
  const colour = (style) => (style < 100 ? `var(--c${style % 11})` : `var(--o${(style - 100) % 6})`);
  const mark = (style) => marks[(style % 100) % marks.length];
  const dash = (style) => dashes[style % dashes.length];
  const muted = "var(--muted)";
  const number = (value) => (Math.abs(value) >= 1000 ? d3.format(",.0f")(value) : `${+value.toPrecision(4)}`);
  const interval = (range) => (range ? ` (${number(range[0])} to ${number(range[1])})` : "");

  const common = (width, height) => ({
    width,
    height,
    marginTop: 26,
    marginRight: 18,
    marginBottom: 40,
    marginLeft: 46,
    style: { fontFamily: "inherit", fontSize: "12px", overflow: "visible" },
  });

  // Scale and axis from an axis of chart.rs.
  const scale = (axis, extra = {}) => ({
    type: axis.log ? "log" : "linear",
    domain: axis.range ?? undefined,
    nice: !axis.range && !axis.ticks.length && !axis.log,
    label: axis.label,
    ...extra,
  });
  // Lines of the grid stand at what is labelled; on a logarithmic axis at powers of ten between its ends.
  const lines = (axis, [low, high]) => {
    if (axis.ticks.length) return { ...grid, ticks: axis.ticks };
    if (!axis.log) return grid;
    return { ...grid, ticks: d3.range(-6, 9).map((power) => 10 ** power).filter((tick) => low <= tick && tick <= high) };
  };
  const ticks = (axis, width) => {
    if (axis.ticks.length) return { ticks: axis.ticks, tickFormat: number };
    return axis.log ? { ticks: width < 420 ? 4 : 6, tickFormat: logTick } : {};
  };
  // Between powers of ten 2 and 5 only: more would run into each other.
  const logTick = (value) => ([1, 2, 5].includes(+(value / 10 ** Math.floor(Math.log10(value) + 1e-9)).toPrecision(3)) ? number(value) : "");

  const grid = { stroke: "currentColor", strokeOpacity: 0.09 };
  const axisOptions = { color: muted, tickSize: 4, fontSize: 11.5 };

  function curves(chart, width) {
    const height = Math.round(chart.wide ? Math.min(560, Math.max(320, width * 0.56)) : Math.max(250, width * 0.72));
    const across = ticks(chart.x, width);
    const layers = [
      Plot.gridX(lines(chart.x, d3.extent(chart.series.flatMap((one) => one.spots), (spot) => spot.x))),
      Plot.gridY(grid),
      Plot.axisX({ ...axisOptions, ...across, label: chart.x.label, labelAnchor: "right", labelArrow: "right" }),
      Plot.axisY({ ...axisOptions, ...ticks(chart.y, width), label: chart.y.label, labelArrow: "up" }),
    ];
    if (chart.corner) {
      layers.push(
        Plot.text(["better ↗"], { frameAnchor: "top-right", dx: -4, dy: 4, fill: muted, fontStyle: "italic", fontSize: 12 }),
      );
    }
    if (chart.levels.length) {
      layers.push(
        Plot.ruleY(chart.levels, { y: "1", stroke: muted, strokeDasharray: "1 3", strokeWidth: 1.2 }),
        // the high one is written where curves are low, the low one where they are high
        ...["left", "right"].map((side, at) => Plot.text(chart.levels.filter((level) => level[1] < 70 === !!at), {
          y: "1", text: "0", frameAnchor: side, textAnchor: at ? "end" : "start", dx: at ? -4 : 4, dy: -7,
          fill: muted, fontSize: 11, stroke: "var(--page)", strokeWidth: 3, className: "epsilon",
        })),
      );
    }
    // the paper's numbers lie below ours
    const series = d3.sort(chart.series, (one) => !one.paper);
    for (const { style, spots, paper } of series) {
      const stroke = colour(style);
      const bars = { stroke, strokeWidth: 1, strokeOpacity: 0.55 };
      layers.push(
        Plot.ruleX(spots.filter((spot) => spot.along), { x: "x", y1: (d) => d.along[0], y2: (d) => d.along[1], ...bars }),
        Plot.ruleY(spots.filter((spot) => spot.across), { y: "y", x1: (d) => d.across[0], x2: (d) => d.across[1], ...bars }),
        Plot.line(spots, {
          x: "x", y: "y", stroke, strokeLinejoin: "round",
          strokeWidth: paper ? 1.1 : 1.9,
          strokeOpacity: paper ? 0.9 : 1,
          strokeDasharray: paper ? "4 3" : chart.smooth ? dash(style) : null,
        }),
      );
    }
    if (!chart.smooth) {
      for (const { spots, paper } of series) {
        if (paper) continue;
        layers.push(Plot.text(spots.filter((spot) => spot.label), {
          x: "x", y: "y", text: "label", dy: -12, fill: "currentColor", stroke: "var(--page)", strokeWidth: 3,
          fontSize: 11, className: "epsilon",
        }));
      }
      for (const { style, spots, paper } of series) {
        layers.push(Plot.dot(spots, {
          x: "x", y: "y", symbol: mark(style), r: chart.wide ? 4.6 : 3.8, stroke: colour(style),
          strokeWidth: paper ? 1.3 : 1, fill: paper ? "var(--page)" : colour(style),
        }));
      }
    }
    const all = series.flatMap(({ name, paper, spots }) => spots.map((spot) => ({ ...spot, name: paper ? `${name}, paper` : name })));
    layers.push(Plot.tip(all, Plot.pointer({
      x: "x", y: "y",
      title: (d) => [
        d.label ? `${d.name}, ε = ${d.label}` : d.name,
        `${chart.x.label}: ${number(d.x)}${interval(d.across)}`,
        `${chart.y.label}: ${number(d.y)}${interval(d.along)}`,
      ].join("\n"),
    })));
    return Plot.plot({
      ...common(width, height),
      x: scale(chart.x, { inset: chart.smooth ? 0 : 10 }),
      y: scale(chart.y, { insetBottom: 4, insetTop: chart.corner ? 14 : 4 }),
      marks: layers,
    });
  }

  function histograms(chart, width) {
    const step = 40;
    const names = chart.rows.map((row) => row.name);
    const left = Math.min(120, 16 + 7 * d3.max(names, (name) => [...name].length));
    const across = ticks(chart.x, width);
    // each row has a height of its own, so that narrow and wide ones can both be seen
    const bars = chart.rows.flatMap((row) => {
      const most = d3.max(row.bins, (bin) => bin[2]) || 1;
      return row.bins.map(([from, to, share]) => ({ row: row.name, from, to, share, height: share / most, style: row.style }));
    });
    const quartiles = chart.rows.map((row) => ({ row: row.name, low: row.quartiles[1], middle: row.quartiles[2], high: row.quartiles[3] }));
    return Plot.plot({
      ...common(width, names.length * step + 46),
      marginTop: 6,
      marginLeft: left,
      x: scale(chart.x, { nice: false }),
      y: { domain: [-0.16, 1], axis: null },
      fy: { domain: names, label: null, padding: 0.12 },
      marks: [
        Plot.gridX(lines(chart.x, chart.x.range ?? [])),
        Plot.axisX({ ...axisOptions, ...across, label: chart.x.label, labelAnchor: "right", labelArrow: "right" }),
        Plot.axisFy({ color: "currentColor", fontSize: 11.5, label: null, anchor: "left", tickSize: 0, lineAnchor: "bottom" }),
        Plot.rect(bars, {
          fy: "row", x1: "from", x2: "to", y1: 0, y2: "height", fill: (d) => colour(d.style), fillOpacity: 0.78,
          title: (d) => `${d.row}: ${number(d.from)} to ${number(d.to)}\n${number(d.share)} % of the values`,
          insetLeft: 0.4, insetRight: 0.4,
        }),
        Plot.ruleY(quartiles, { fy: "row", y: -0.08, x1: "low", x2: "high", stroke: "currentColor", strokeWidth: 1.4, strokeOpacity: 0.6 }),
        Plot.ruleX(quartiles, { fy: "row", x: "middle", y1: -0.16, y2: 0, stroke: "currentColor", strokeWidth: 2 }),
      ],
    });
  }

  function dots(chart, width) {
    const rows = [...new Set(chart.dots.map((dot) => dot.row))];
    const styles = [...new Set(chart.dots.map((dot) => dot.style))];
    const left = Math.min(150, 20 + 7.2 * d3.max(rows, (name) => [...name].length));
    const step = 16 + 8 * styles.length;
    // the mechanisms of a row lie a little apart
    const lane = (dot) => styles.indexOf(dot.style);
    return Plot.plot({
      ...common(width, rows.length * step + 46),
      marginTop: 6,
      marginLeft: left,
      x: scale(chart.x),
      y: { domain: [-1, styles.length], reverse: true, axis: null },
      fy: { domain: rows, label: null, padding: 0 },
      marks: [
        Plot.gridX(grid),
        Plot.axisX({ ...axisOptions, label: chart.x.label, labelAnchor: "right", labelArrow: "right" }),
        Plot.axisFy({ color: "currentColor", fontSize: 11.5, label: null, anchor: "left", tickSize: 0 }),
        Plot.ruleY(rows.slice(1), { fy: (row) => row, y: -1, stroke: "currentColor", strokeOpacity: 0.14 }),
        ...styles.flatMap((style) => {
          const own = chart.dots.filter((dot) => dot.style === style);
          return [
            Plot.ruleY(own.filter((dot) => dot.range), {
              fy: "row", y: lane, x1: (d) => d.range[0], x2: (d) => d.range[1], stroke: colour(style), strokeOpacity: 0.6,
            }),
            Plot.dot(own, {
              fy: "row", y: lane, x: "x", symbol: mark(style), fill: colour(style), r: 3.8,
              title: (d) => `${d.row}, ${d.name}: ${number(d.x)}${interval(d.range)}`,
            }),
          ];
        }),
      ],
    });
  }

  // Labels that would cover another are left out, the ends of a line last.
  function thin(svg) {
    const groups = [...svg.querySelectorAll("g.epsilon, g[aria-label=text].epsilon")];
    const labels = groups.flatMap((group) => {
      const texts = [...group.querySelectorAll("text")];
      return texts.map((text, at) => ({ text, order: at === 0 || at === texts.length - 1 ? 0 : 1 }));
    });
    const taken = [];
    for (const { text } of d3.sort(labels, (label) => label.order)) {
      const box = text.getBoundingClientRect();
      const hit = taken.some((o) => box.left < o.right + 2 && o.left < box.right + 2 && box.top < o.bottom - 2 && o.top < box.bottom - 2);
      if (hit) text.remove();
      else taken.push(box);
    }
  }

  const kinds = { curves, histograms, dots };
  function draw(place, width = Math.floor(place.clientWidth)) {
    if (!width || place.drawn === width) return;
    place.drawn = width;
    const chart = charts[+place.dataset.chart];
    const svg = kinds[chart.kind](chart, width);
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", `${chart.title}. The numbers are in the table below the chart.`);
    place.replaceChildren(svg);
    thin(svg);
  }

  function swatch(item) {
    const paper = item.dataset.style === "paper";
    const style = paper ? 0 : +item.dataset.style;
    const stroke = paper ? "currentColor" : colour(style);
    const smooth = item.closest("figure") && charts[+item.closest("figure").querySelector(".plot").dataset.chart].smooth;
    const svg = d3.create("svg").attr("width", 34).attr("height", 14).attr("viewBox", "-17 -7 34 14").attr("aria-hidden", true);
    svg.append("line").attr("x1", -16).attr("x2", 16).attr("stroke", stroke).attr("stroke-width", paper ? 1.2 : 2)
      .attr("stroke-dasharray", paper ? "4 3" : smooth ? dash(style) : null);
    if (!smooth) {
      svg.append("path").attr("d", d3.symbol(mark(style), 58)()).attr("stroke", stroke)
        .attr("fill", paper ? "var(--page)" : stroke);
    }
    item.prepend(svg.node());
  }

  document.querySelectorAll(".legend li").forEach(swatch);
  const places = [...document.querySelectorAll(".plot")];
  places.forEach((place) => draw(place));
  // Paper has a width of its own, and letters are to be read there too.
  let printing = false;
  addEventListener("beforeprint", () => {
    printing = true;
    places.forEach((place) => draw(place, charts[+place.dataset.chart].wide ? 720 : 400));
  });
  addEventListener("afterprint", () => {
    printing = false;
    places.forEach((place) => draw(place));
  });
  const watch = new ResizeObserver((entries) => {
    if (!printing) requestAnimationFrame(() => entries.forEach((entry) => draw(entry.target)));
  });
  places.forEach((place) => watch.observe(place));

  // Where the reader is, in the contents.
  const links = new Map([...document.querySelectorAll("nav a")].map((link) => [link.hash.slice(1), link]));
  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (entry.isIntersecting) {
        links.forEach((link) => link.removeAttribute("aria-current"));
        links.get(entry.target.id)?.setAttribute("aria-current", "true");
      }
    }
  }, { rootMargin: "-15% 0px -75% 0px" });
  document.querySelectorAll("main > section").forEach((section) => seen.observe(section));
})();
