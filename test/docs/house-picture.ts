import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { box, DIM, FAINT, LINE, picture, text } from './svg.ts';

/** The rooms of `src`, from the doors down to what all of them stand on. A room may import from below, never from above. */
const FLOORS: readonly (readonly [floor: string, rooms: Readonly<Record<string, string>>])[] = [
  ['start', { server: 'the life of a server: start, reload, drain' }],
  ['doors', { http: 'routes, admission', cli: 'commands', console: 'the web client' }],
  ['operations', { admin: 'what operators can do, each stated once' }],
  ['operators', { operate: 'what operators ask for', conformance: 'the laws of plugins' }],
  ['dialects', { surface: 'the dialects that callers speak' }],
  [
    'a request',
    {
      request: 'context, pipeline, decide',
      exchange: 'attempts, answer, settlement',
      money: 'who pays, holds',
      prompt: 'affinity, threads, runs',
    },
  ],
  ['in force', { runtime: 'policy in force, reload', payments: 'x402' }],
  [
    'rooms',
    {
      alerts: 'messages to people',
      policy: 'YAML → snapshot',
      routing: 'profile, rank, decide',
      ledger: 'funds, holds, audit',
      access: 'keys, limits',
      upstream: 'sockets, health',
      records: 'decisions, content',
      importers: 'from LiteLLM',
      tokenizer: 'exact counts',
      'plugin-host': 'registry',
    },
  ],
  ['what lasts', { store: 'repositories; SQLite behind them' }],
  [
    'shared',
    {
      api: 'schemas, routing fields, errors',
      outbound: 'checked requests to outside',
      telemetry: 'log, metrics, traces',
    },
  ],
  [
    'ground',
    { core: 'credits, facts, decision', contract: 'all that a plugin imports', accounting: 'the rules of money' },
  ],
];

const WIDTH = 920;
const [LEFT, RIGHT] = [130, WIDTH - 28];
const HEIGHT_OF_ROOM = 46;
const A_ROW = 5;

export function housePicture(): string {
  const drawn = FLOORS.flatMap(([, rooms]) => Object.keys(rooms)).sort();
  const rooms = readdirSync(join(import.meta.dir, '../../src'), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    .sort();
  if (drawn.join() !== rooms.join()) throw new Error(`The drawing has the rooms ${drawn}, src has ${rooms}.`);

  const body: string[] = [
    text(28, 36, 'The house', 'font-size="20" font-weight="600"'),
    text(28, 58, 'Rooms of src/. A room imports from below, never from above. A test enforces it.', `fill="${DIM}"`),
  ];
  let y = 80;
  for (const [floor, here] of FLOORS) {
    const entries = Object.entries(here);
    const rows = Math.ceil(entries.length / A_ROW);
    const height = rows * (HEIGHT_OF_ROOM + 8) + 8;
    body.push(
      `<rect x="${LEFT - 8}" y="${y}" width="${RIGHT - LEFT + 16}" height="${height}" rx="6" fill="${FAINT}"/>`,
    );
    body.push(text(28, y + height / 2 + 4, floor, `fill="${DIM}"`));
    for (const [at, [name, what]] of entries.entries()) {
      const inRow = Math.min(A_ROW, entries.length - Math.floor(at / A_ROW) * A_ROW);
      const width = (RIGHT - LEFT - (inRow - 1) * 8) / inRow;
      const x = LEFT + (at % A_ROW) * (width + 8);
      const top = y + 8 + Math.floor(at / A_ROW) * (HEIGHT_OF_ROOM + 8);
      body.push(box(x, top, width, HEIGHT_OF_ROOM));
      body.push(text(x + 10, top + 19, `${name}/`, 'font-weight="600"'));
      body.push(text(x + 10, top + 36, what, `font-size="11" fill="${DIM}"`));
    }
    y += height + 14;
  }
  body.push(`<line x1="28" x2="${RIGHT}" y1="${y}" y2="${y}" stroke="${LINE}"/>`);
  body.push(box(LEFT, y + 14, 392, HEIGHT_OF_ROOM), text(LEFT + 10, y + 33, 'plugins/', 'font-weight="600"'));
  body.push(text(LEFT + 10, y + 50, 'strategies, providers; import contract/ alone', `font-size="11" fill="${DIM}"`));
  body.push(
    box(LEFT + 400, y + 14, RIGHT - LEFT - 400, HEIGHT_OF_ROOM),
    text(LEFT + 410, y + 33, 'policies/', 'font-weight="600"'),
  );
  body.push(text(LEFT + 410, y + 50, 'YAML, compiled into one snapshot', `font-size="11" fill="${DIM}"`));
  return picture(WIDTH, y + 84, 'The rooms of Signalbox and the order of their imports', body.join('\n'));
}
