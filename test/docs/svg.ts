/** The colours and the few elements of the drawings in `docs/pictures/`. They are light: pages of docs are read on white and on dark. */
export const [INK, DIM, LINE, PAPER] = ['#1f2328', '#656d76', '#d0d7de', '#ffffff'];
export const ACCENT = '#2f81f7';

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };
export const escaped = (words: string): string => words.replace(/[&<>]/g, (found) => ENTITIES[found]!);

export const text = (x: number, y: number, words: string, more = ''): string =>
  `<text x="${x}" y="${y}" ${more}>${escaped(words)}</text>`;

export const box = (x: number, y: number, width: number, height: number, more = ''): string =>
  `<rect x="${x}" y="${y}" width="${width}" height="${height}" rx="6" ${more || `fill="${PAPER}" stroke="${LINE}"`}/>`;

/** A drawing with a frame, a title for readers of the screen, and arrow heads `#head`. */
export const picture = (width: number, height: number, title: string, body: string): string =>
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="ui-sans-serif, system-ui, Segoe UI, Helvetica, Arial, sans-serif" font-size="13" fill="${INK}" role="img">
<title>${escaped(title)}</title>
<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0 8 4 0 8z" fill="${DIM}"/></marker></defs>
<rect x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="10" fill="${PAPER}" stroke="${LINE}"/>
${body}
</svg>
`;

export const arrow = (x1: number, y1: number, x2: number, y2: number, more = ''): string =>
  `<line x1="${x1}" y1="${y1}" x2="${x2}" y2="${y2}" stroke="${DIM}" marker-end="url(#head)" ${more}/>`;
