import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { box, DIM, FAINT, LINE, picture, text } from './svg.ts';

/** The modules of `src`, from those that start a server down to those that all others use. A module imports only from below. */
const FLOORS: readonly (readonly [floor: string, modules: Readonly<Record<string, string>>])[] = [
  ['commands', { cli: 'the commands, on a server or on its data' }],
  ['starts', { server: 'start, reload, drain', tools: 'importers, plugin kit' }],
  ['doors', { http: 'routes, admission', console: 'the web application' }],
  ['operators', { admin: 'operations, each defined once' }],
  ['a request', { dialects: 'the APIs that callers speak', gateway: 'decide, hold, call, settle, record' }],
  ['payments', { payments: 'x402' }],
  [
    'subjects',
    {
      policy: 'YAML → snapshot',
      routing: 'profile, rank, decide',
      providers: 'calls, health, tokens',
      ledger: 'funds, holds, audit',
      access: 'keys, people, limits',
    },
  ],
  ['what lasts', { store: 'interfaces; SQLite and PostgreSQL' }],
  ['shared', { host: 'log, metrics, traces, requests to other hosts' }],
  ['ground', { core: 'values, rules of money', contract: 'what plugins import' }],
];

const WIDTH = 920;
const [LEFT, RIGHT] = [130, WIDTH - 28];
const MODULE_HEIGHT = 46;
const A_ROW = 5;

export function housePicture(): string {
  const drawn = FLOORS.flatMap(([, rooms]) => Object.keys(rooms)).sort();
  const rooms = readdirSync(join(import.meta.dir, '../../src'), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    .sort();
  if (drawn.join() !== rooms.join()) throw new Error(`The drawing has the modules ${drawn}, src has ${rooms}.`);

  const body: string[] = [
    text(28, 36, 'The map', 'font-size="20" font-weight="600"'),
    text(28, 58, 'Modules of src/. A module imports from below, never from above. A test checks it.', `fill="${DIM}"`),
  ];
  let y = 80;
  for (const [floor, here] of FLOORS) {
    const entries = Object.entries(here);
    const rows = Math.ceil(entries.length / A_ROW);
    const height = rows * (MODULE_HEIGHT + 8) + 8;
    body.push(
      `<rect x="${LEFT - 8}" y="${y}" width="${RIGHT - LEFT + 16}" height="${height}" rx="6" fill="${FAINT}"/>`,
    );
    body.push(text(28, y + height / 2 + 4, floor, `fill="${DIM}"`));
    for (const [at, [name, what]] of entries.entries()) {
      const inRow = Math.min(A_ROW, entries.length - Math.floor(at / A_ROW) * A_ROW);
      const width = (RIGHT - LEFT - (inRow - 1) * 8) / inRow;
      const x = LEFT + (at % A_ROW) * (width + 8);
      const top = y + 8 + Math.floor(at / A_ROW) * (MODULE_HEIGHT + 8);
      body.push(box(x, top, width, MODULE_HEIGHT));
      body.push(text(x + 10, top + 19, `${name}/`, 'font-weight="600"'));
      body.push(text(x + 10, top + 36, what, `font-size="11" fill="${DIM}"`));
    }
    y += height + 14;
  }
  body.push(`<line x1="28" x2="${RIGHT}" y1="${y}" y2="${y}" stroke="${LINE}"/>`);
  body.push(box(LEFT, y + 14, 392, MODULE_HEIGHT), text(LEFT + 10, y + 33, 'plugins/', 'font-weight="600"'));
  body.push(
    text(LEFT + 10, y + 50, 'strategies, providers; import only signalbox/plugin', `font-size="11" fill="${DIM}"`),
  );
  body.push(
    box(LEFT + 400, y + 14, RIGHT - LEFT - 400, MODULE_HEIGHT),
    text(LEFT + 410, y + 33, 'policies/', 'font-weight="600"'),
  );
  body.push(text(LEFT + 410, y + 50, 'YAML, compiled into one snapshot', `font-size="11" fill="${DIM}"`));
  return picture(WIDTH, y + 84, 'The modules of Signalbox in the order of their imports', body.join('\n'));
}
