// Opens each page in Chromium and says what is wrong with it; exits with 1 if anything is.
'use strict';
const fs = require('fs');
const path = require('path');
const { pathToFileURL } = require('url');
const { chromium } = require('playwright-core');

const AXE = fs.readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
const WIDTHS = [1280, 390];
const MOST_PAGES = 7;
let faults = 0;

function fault(page, text) {
  faults += 1;
  console.log(`${page}: ${text}`);
}

// What is wider than the window, but for what scrolls in its own box.
function overflowing() {
  const wide = document.documentElement.clientWidth;
  const found = [];
  if (document.documentElement.scrollWidth > wide) {
    found.push(`the page is ${document.documentElement.scrollWidth} wide`);
  }
  const texts = 'nav, nav a, h1, h2, p, summary, .tally, figcaption';
  for (const element of document.querySelectorAll(texts)) {
    const box = element.getBoundingClientRect();
    if (box.width > 0 && (box.right > wide + 1 || element.scrollWidth > element.clientWidth + 1 &&
        getComputedStyle(element).display !== 'inline')) {
      found.push(`${element.tagName} is clipped: ${element.textContent.trim().slice(0, 60)}`);
    }
  }
  const nav = document.querySelector('nav');
  if (nav && nav.scrollHeight > nav.clientHeight + 1) {
    found.push('the contents are clipped');
  }
  return found;
}

// Names in a plot that lie on one another.
function overlapping() {
  const found = [];
  for (const group of document.querySelectorAll('.names')) {
    const boxes = [...group.children]
      .map((text) => [text.textContent, text.getBoundingClientRect()]);
    boxes.forEach(([one, a], at) => boxes.slice(at + 1).forEach(([other, b]) => {
      const deep = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (a.width > 0 && a.left < b.right && b.left < a.right && deep > 3) {
        found.push(`"${one}" lies on "${other}"`);
      }
    }));
  }
  return found;
}

async function audited(page) {
  await page.evaluate(AXE);
  const { violations } = await page.evaluate(() => window.axe.run(document));
  return violations.map((each) => `axe: ${each.impact} ${each.id}: ${each.help}: ${each.nodes
    .slice(0, 3).map((node) => node.html.slice(0, 120)).join(' | ')}`);
}

// Tab must come to every link, fold and scrolling box, and show where it is.
async function byKeyboard(page) {
  const wanted = await page.evaluate(() => {
    const all = document.querySelectorAll('a[href], summary, button, [tabindex="0"]');
    return [...all].filter((each) => each.checkVisibility()).length;
  });
  const found = [];
  await page.evaluate(() => { document.activeElement.blur(); window.scrollTo(0, 0); });
  let reached = 0;
  for (; reached < wanted + 1; reached += 1) {
    await page.keyboard.press('Tab');
    const at = await page.evaluate(() => {
      const now = document.activeElement;
      if (!now || now === document.body) { return null; }
      if (now.dataset.reached) { return null; }
      now.dataset.reached = '1';
      const style = getComputedStyle(now);
      const rect = now.querySelector('rect');
      const seen = style.outlineStyle !== 'none' ||
        (rect && getComputedStyle(rect).strokeWidth !== '1px');
      return { name: now.tagName + ' ' + now.textContent.trim().slice(0, 40), seen };
    });
    if (!at) { break; }
    if (!at.seen) { found.push(`the focus on ${at.name} can't be seen`); }
  }
  if (reached < wanted) { found.push(`Tab comes to ${reached} of ${wanted} places`); }
  const opened = await page.evaluate(() => {
    const fold = document.querySelector('main > section details');
    if (!fold) { return true; }
    fold.open = false;
    fold.querySelector('summary').focus();
    return null;
  });
  if (opened === null) {
    await page.keyboard.press('Enter');
    const open = await page.evaluate(() => document.activeElement.parentElement.open);
    if (!open) { found.push('Enter opens no fold'); }
  }
  return found;
}

// The verdict, the tally and the noise, above the fold.
function firstScreen() {
  const found = [];
  for (const of of ['.verdict', '.tally', '.badge']) {
    const element = document.querySelector(of);
    if (element && element.getBoundingClientRect().bottom > window.innerHeight) {
      found.push(`${of} is below the first screen`);
    }
  }
  if (!document.querySelector('.verdict')) { found.push('no verdict'); }
  return found;
}

async function checked(browser, file) {
  const name = path.basename(file, '.html');
  const shot = (kind) => path.join(process.env.SHOTS, `${name}-${kind}.png`);
  for (const colorScheme of ['light', 'dark']) {
    for (const width of WIDTHS) {
      const context = await browser.newContext({ colorScheme, viewport: { width, height: 844 } });
      const page = await context.newPage();
      const requests = [];
      page.on('request', (request) => requests.push(request.url()));
      page.on('pageerror', (error) => fault(name, `script: ${error.message}`));
      await page.goto(pathToFileURL(path.resolve(file)).href);
      const where = `${name}, ${width}, ${colorScheme}`;
      requests.slice(1).forEach((url) => fault(where, `fetches ${url}`));
      (await page.evaluate(firstScreen)).forEach((text) => fault(where, text));
      await page.screenshot({ path: shot(`${width}-${colorScheme}`), fullPage: true });
      for (const state of ['folded', 'unfolded']) {
        if (state === 'unfolded') {
          await page.evaluate(() => document.querySelectorAll('details')
            .forEach((each) => { each.open = true; }));
        }
        for (const look of [overflowing, overlapping]) {
          (await page.evaluate(look)).forEach((text) => fault(`${where}, ${state}`, text));
        }
        (await audited(page)).forEach((text) => fault(`${where}, ${state}`, text));
      }
      await page.evaluate(() => document.querySelectorAll('details')
        .forEach((each) => { each.open = false; }));
      (await byKeyboard(page)).forEach((text) => fault(where, text));
      await context.close();
    }
  }
  const page = await browser.newPage();
  await page.goto(pathToFileURL(path.resolve(file)).href);
  const pdf = await page.pdf({ path: shot('paper').replace('.png', '.pdf'), format: 'A4' });
  const pages = (pdf.toString('latin1').match(/\/Type\s*\/Page\b/g) || []).length;
  if (pages > MOST_PAGES) { fault(name, `${pages} printed pages, at most ${MOST_PAGES}`); }
  await page.close();
  console.log(`${name}: ${pages} printed pages`);
}

(async () => {
  const browser = await chromium.launch({
    executablePath: process.env.BROWSER,
    args: process.getuid() === 0 ? ['--no-sandbox'] : [],
  });
  for (const file of process.argv.slice(2)) {
    await checked(browser, file);
  }
  await browser.close();
  console.log(faults === 0 ? 'nothing is wrong with the pages' : `${faults} faults`);
  process.exit(faults === 0 ? 0 : 1);
})().catch((error) => { console.error(error); process.exit(1); });
