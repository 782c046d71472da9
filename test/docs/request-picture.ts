import { ACCENT, arrow, box, DIM, HELD, LINE, onLine, picture, text } from './svg.ts';

/** The life of a request: the participant that each step calls, and the state of a budget of 100 Credits. */
const WIDTH = 920;
const [CALLER, GATEWAY, BOOKS, PROVIDER] = [90, 330, 570, 810];
const TOP = 104;
const ROW = 44;

interface Message {
  readonly from: number;
  readonly to: number;
  readonly words: string;
  readonly note?: string;
}

const STEPS: readonly Message[] = [
  { from: CALLER, to: GATEWAY, words: 'POST /v1/chat/completions', note: '1 admit: key, limits, size' },
  { from: GATEWAY, to: GATEWAY, words: '', note: '2 read · 3 profile · 4 shortlist · 5 decide' },
  { from: GATEWAY, to: BOOKS, words: 'reserve the worst case', note: '6 reserve: written to disk first' },
  {
    from: GATEWAY,
    to: PROVIDER,
    words: 'the request, in the provider’s dialect',
    note: '7 dispatch: retry, fall back',
  },
  { from: PROVIDER, to: GATEWAY, words: 'the answer, part by part' },
  { from: GATEWAY, to: CALLER, words: 'JSON or events, as they come' },
  { from: GATEWAY, to: BOOKS, words: 'post the usage, release the rest', note: '8 settle: once, on every path' },
  { from: GATEWAY, to: CALLER, words: 'the price and a decision ID' },
];

/** The budget at moments of the request: spent and held, of 100 Credits. */
const FUND: readonly (readonly [label: string, spent: number, held: number])[] = [
  ['before', 20, 0],
  ['while the answer streams', 20, 30],
  ['after', 26, 0],
];

const FUND_TOP = TOP + 40 + STEPS.length * ROW + 34;
const HEIGHT = FUND_TOP + 132;

export function requestPicture(): string {
  const lanes = [
    ['Application', CALLER],
    ['Signalbox', GATEWAY],
    ['Ledger', BOOKS],
    ['Provider', PROVIDER],
  ] as const;
  const bottom = TOP + 24 + STEPS.length * ROW;
  const body = [
    text(28, 36, 'The life of a request', 'font-size="20" font-weight="600"'),
    text(28, 58, 'Signalbox reserves the highest possible cost on disk before it calls a provider.', `fill="${DIM}"`),
    ...lanes.flatMap(([name, x]) => [
      `<line x1="${x}" x2="${x}" y1="${TOP}" y2="${bottom}" stroke="${LINE}" stroke-dasharray="4 4"/>`,
      box(x - 60, TOP - 26, 120, 28),
      text(x, TOP - 7, name, 'text-anchor="middle" font-weight="600"'),
    ]),
    ...STEPS.map((step, at) => drawn(step, TOP + 42 + at * ROW)),
    text(28, FUND_TOP, 'A budget of 100 Credits during the request', 'font-weight="600"'),
    ...FUND.map((moment, at) => bar(moment, FUND_TOP + 24 + at * 34)),
  ];
  return picture(WIDTH, HEIGHT, 'The life of a request: reserve before the call, settle after it', body.join('\n'));
}

function drawn({ from, to, words, note }: Message, y: number): string {
  const isLeft = to !== CALLER && from !== CALLER && from !== to;
  const label = isLeft
    ? onLine(GATEWAY - 14, y + 4, note ?? '', 'text-anchor="end"')
    : onLine(GATEWAY + 14, y + 4, note ?? '');
  // An arrow ends at the edge of the dot of its step.
  const end = note && to === GATEWAY ? to - 6 : to;
  return [
    ...(from === to
      ? []
      : [arrow(from, y, end, y), onLine((from + to) / 2, y - 8, words, `text-anchor="middle" fill="${DIM}"`)]),
    ...(note ? [`<circle cx="${GATEWAY}" cy="${y}" r="5" fill="${ACCENT}"/>`, label] : []),
  ].join('');
}

function bar([label, spent, held]: (typeof FUND)[number], y: number): string {
  const [x, scale] = [212, 4.8];
  const free = 100 - spent - held;
  return [
    text(x - 12, y + 14, label, `text-anchor="end" fill="${DIM}"`),
    `<rect x="${x}" y="${y}" width="${spent * scale}" height="20" fill="${ACCENT}"/>`,
    `<rect x="${x + spent * scale}" y="${y}" width="${held * scale}" height="20" fill="${HELD}"/>`,
    `<rect x="${x + (spent + held) * scale}" y="${y}" width="${free * scale}" height="20" fill="none" stroke="${LINE}"/>`,
    text(x + 100 * scale + 14, y + 14, `spent ${spent}${held ? ` · held ${held}` : ''} · free ${free}`),
  ].join('');
}
