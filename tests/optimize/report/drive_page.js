// Drives a report in Chromium: node drive_page.js REPORT OUT, with playwright-core and axe-core in NODE_PATH. Prints one JSON object.
const { chromium } = require("playwright-core");
const [file, out, positions] = [process.argv[2], process.argv[3], JSON.parse(process.argv[4])];
const LOOKS = [
  [1440, "light"],
  [820, "dark"],
  [390, "light"],
  [390, "dark"],
];

(async () => {
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox", "--disable-gpu"] });
  const said = { console: [], requests: [], wide: [], serious: [], figures: [] };
  for (const [width, colorScheme] of LOOKS) {
    const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme, bypassCSP: true }); // for axe alone
    const page = await context.newPage();
    page.on("console", (message) => said.console.push(message.text()));
    page.on("pageerror", (error) => said.console.push(String(error)));
    page.on("request", (request) => request.url().startsWith("file:") || said.requests.push(request.url()));
    await page.goto(`file://${file}`);
    await page.screenshot({ path: `${out}/report-${width}-${colorScheme}.png`, fullPage: true });
    for (const view of ["manager", "engineer", "auditor"]) {
      await page.click(`button[data-view=${view}]`);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      if (wide > 0) said.wide.push(`${view} at ${width}: ${wide} px`);
    }
    await page.addScriptTag({ path: require.resolve("axe-core") });
    const found = await page.evaluate(() => axe.run());
    for (const each of found.violations) {
      if (["serious", "critical"].includes(each.impact)) said.serious.push(`${each.id} at ${width} ${colorScheme}: ${each.nodes[0].html.slice(0, 120)}`);
    }
    if (width === 1440) {
      for (const moved of positions) {
        await page.click("#again");
        for (const [key, place] of Object.entries(moved)) {
          await page.$eval(`#at-${key}`, (input, value) => {
            input.value = value;
            input.dispatchEvent(new Event("input"));
          }, place);
        }
        said.figures.push(await page.$$eval("#answer div", (rows) => rows.map((row) => [row.firstChild.textContent, row.lastChild.textContent])));
      }
    }
    await context.close();
  }
  const page = await browser.newPage();
  await page.goto(`file://${file}`);
  await page.pdf({ path: `${out}/report.pdf`, preferCSSPageSize: true, printBackground: true });
  await browser.close();
  process.stdout.write(JSON.stringify(said));
})();
