/**
 * The colours and the few elements of the drawings in `docs/pictures/`. A drawing has its own background, light or dark as in the reader's
 * system, so it is readable even on a page of the other kind.
 */
export const [INK, DIM, LINE, PAPER, FAINT] = ['#1f2328', '#59636e', '#d0d7de', '#ffffff', '#f6f8fa'];
export const [ACCENT, GOOD, WARM, GREY, CHOSEN] = ['#0969da', '#1a7f37', '#b04600', '#818b98', '#e6f4ff'];
export const HELD = '#f2cc60';

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };
export const escaped = (words: string): string => words.replace(/[&<>]/g, (found) => ENTITIES[found]!);

export const text = (x: number, y: number, words: string, more = ''): string =>
  `<text x="${round(x)}" y="${round(y)}" ${more}>${escaped(words)}</text>`;

/** A text on a line: the line stops around the text. */
export const onLine = (x: number, y: number, words: string, more = ''): string =>
  text(x, y, words, `stroke="${PAPER}" stroke-width="4" paint-order="stroke" ${more}`);

export const box = (x: number, y: number, width: number, height: number, more = ''): string =>
  `<rect x="${round(x)}" y="${round(y)}" width="${round(width)}" height="${round(height)}" rx="6" ${more || `fill="${PAPER}" stroke="${LINE}"`}/>`;

const round = (length: number): number => Number(length.toFixed(1));

/** A drawing with a frame, a title for screen readers, and arrow heads `#head`. */
export const picture = (width: number, height: number, title: string, body: string): string =>
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="ui-sans-serif, system-ui, Segoe UI, Helvetica, Arial, sans-serif" font-size="13" fill="${INK}" role="img">
<title>${escaped(title)}</title>
${inTheDark(DARK)}
<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0 8 4 0 8z" fill="${DIM}"/></marker></defs>
<rect x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="10" fill="${PAPER}" stroke="${LINE}"/>
${body}
</svg>
`;

/** Each colour of a drawing, and its replacement on a dark background. */
const DARK: Readonly<Record<string, string>> = {
  [INK]: '#e6edf3',
  [DIM]: '#9198a1',
  [LINE]: '#3d444d',
  [PAPER]: '#151b23',
  [FAINT]: '#212830',
  [ACCENT]: '#4493f8',
  [GOOD]: '#3fb950',
  [WARM]: '#f0883e',
  [GREY]: '#7d8590',
  [CHOSEN]: '#132c47',
  [HELD]: '#9e6a03',
};

/** The style with a drawing's dark colours. A viewer that does not support it shows the light ones. */
export const inTheDark = (colours: Readonly<Record<string, string>>): string =>
  `<style>@media (prefers-color-scheme: dark) {${Object.entries(colours)
    .map(([light, dark]) => ` [fill="${light}"] { fill: ${dark} } [stroke="${light}"] { stroke: ${dark} }`)
    .join('')} }</style>`;

export const arrow = (x1: number, y1: number, x2: number, y2: number, more = ''): string =>
  `<line x1="${x1}" y1="${y1}" x2="${x2}" y2="${y2}" stroke="${DIM}" marker-end="url(#head)" ${more}/>`;
