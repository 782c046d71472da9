import { type Static, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import type { Page } from 'playwright-core';

/** In CSS pixels: left, top, right, bottom. */
const Edges = Type.Tuple([Type.Number(), Type.Number(), Type.Number(), Type.Number()]);
const Drawn = Type.Object({
  words: Type.String(),
  at: Edges,
  /** The innermost box around the text: a filled or framed element, or the page. */
  within: Edges,
  /** The colour of the text, followed by the colours under it from the nearest: `rgb(…)`; the last one is opaque. */
  ink: Type.String(),
  grounds: Type.Array(Type.String()),
});
/** A line of text as a page shows it. */
export type Drawn = Static<typeof Drawn>;

/** This script runs in the page. The script finds every visible line of text, in HTML and in drawings. */
const READ = `(() => {
  const edges = ({ left, top, right, bottom }) => [left, top, right, bottom];
  const isClear = (colour) => colour === 'none' || colour === 'transparent' || /, 0\\)$/.test(colour);
  const holds = ([left, top, right, bottom], x, y) => left <= x && x <= right && top <= y && y <= bottom;
  const rects = [...document.querySelectorAll('svg rect')].filter((rect) => !isClear(getComputedStyle(rect).fill));
  const inDrawing = (element, [left, top, right, bottom]) => {
    const around = rects.filter((rect) => rect.ownerSVGElement === element.ownerSVGElement &&
      holds(edges(rect.getBoundingClientRect()), (left + right) / 2, (top + bottom) / 2));
    const [nearest] = around.reverse();
    return { within: edges((nearest ?? element.ownerSVGElement).getBoundingClientRect()),
      grounds: [nearest ? getComputedStyle(nearest).fill : 'rgb(255, 255, 255)'], ink: getComputedStyle(element).fill };
  };
  const inPage = (element) => {
    const grounds = [];
    let within = null;
    for (let one = element; one; one = one.parentElement) {
      const { backgroundColor, borderTopStyle, display } = getComputedStyle(one);
      if (!isClear(backgroundColor)) grounds.push(backgroundColor);
      if (within === null && display !== 'inline' && (!isClear(backgroundColor) || borderTopStyle !== 'none'))
        within = edges(one.getBoundingClientRect());
    }
    const page = [0, 0, document.documentElement.clientWidth, document.documentElement.scrollHeight];
    return { within: within ?? page, grounds: [...grounds, 'rgb(255, 255, 255)'], ink: getComputedStyle(element).color };
  };
  const found = [];
  const nodes = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = nodes.nextNode(); node; node = nodes.nextNode()) {
    const element = node.parentElement;
    if (!node.data.trim() || element.closest('title, style, script, option') || !element.checkVisibility()) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const rect of range.getClientRects()) {
      if (rect.width < 1) continue;
      const at = edges(rect);
      found.push({ words: node.data.trim(), at, ...(element.closest('text') ? inDrawing(element, at) : inPage(element)) });
    }
  }
  return found;
})()`;

/** Returns every line of text of a page. */
export const drawnIn = async (page: Page): Promise<readonly Drawn[]> =>
  Value.Parse(Type.Array(Drawn), await page.evaluate(READ));

/** The minimum contrast of text (WCAG 2.2, AA), and the minimum height of a line in pixels. */
const CONTRAST_MIN = 4.5;
const HEIGHT_MIN = 11;

/** Returns where texts overlap, leave their box, are too small or too faint; empty for a readable page. */
export function faultsOf(drawn: readonly Drawn[]): readonly string[] {
  const faults: string[] = [];
  for (const [index, one] of drawn.entries()) {
    const { words, at, within, ink, grounds } = one;
    const other = drawn.slice(index + 1).find((later) => doOverlap(at, later.at));
    if (other) faults.push(`“${words}” overlaps “${other.words}”`);
    if (leaves(at, within)) faults.push(`“${words}” leaves its box`);
    if (at[3] - at[1] < HEIGHT_MIN) faults.push(`“${words}” is too small`);
    const contrast = contrastOf(ink, grounds);
    if (contrast < CONTRAST_MIN) faults.push(`“${words}” is faint: ${contrast.toFixed(1)}`);
  }
  return [...new Set(faults)];
}

/** A line is higher than its letters, so lines that overlap by a fifth of their height do not collide. */
function doOverlap(a: Drawn['at'], b: Drawn['at']): boolean {
  const least = 0.4 * Math.min(a[3] - a[1], b[3] - b[1]);
  return Math.min(a[2], b[2]) - Math.max(a[0], b[0]) > 0.5 && Math.min(a[3], b[3]) - Math.max(a[1], b[1]) > least;
}

const leaves = ([left, top, right, bottom]: Drawn['at'], within: Drawn['within']): boolean => {
  const slack = 0.25 * (bottom - top);
  return left < within[0] - 1 || right > within[2] + 1 || top < within[1] - slack || bottom > within[3] + slack;
};

type Colour = readonly [red: number, green: number, blue: number, alpha: number];

function colourOf(text: string): Colour {
  const [red = 0, green = 0, blue = 0, alpha = 1] = (text.match(/[\d.]+/g) ?? []).map(Number);
  return [red, green, blue, alpha];
}

const over = ([red, green, blue, alpha]: Colour, ground: Colour): Colour => [
  red * alpha + ground[0] * (1 - alpha),
  green * alpha + ground[1] * (1 - alpha),
  blue * alpha + ground[2] * (1 - alpha),
  1,
];

/** The contrast of a colour on the colours under it (nearest first) by WCAG, from 1 to 21. */
function contrastOf(ink: string, grounds: readonly string[]): number {
  const ground = grounds.map(colourOf).reduceRight((under, one) => over(one, under));
  const [a, b] = [luminance(over(colourOf(ink), ground)), luminance(ground)];
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
}

function luminance([red, green, blue]: Colour): number {
  const linear = (part: number) => (part <= 10.3 ? part / 3294 : ((part / 255 + 0.055) / 1.055) ** 2.4);
  return 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue);
}
