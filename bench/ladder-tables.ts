import { type ColdStart, FIRST, type Ladder, type LadderCell, type LadderRound, RUNGS, type Rung } from './ladder.ts';
import { fixed, lowerQuartile, median, table } from './stats.ts';
import { JSON_200 } from './workload.ts';

/** The tables of the ladder: a summary for docs/benchmarks.md, and every figure for bench/results/ladder.md. */

const TITLES: Readonly<Record<Rung, string>> = {
  floor: 'the floor',
  flat: 'the flat gateway',
  healthz: '`GET /healthz`',
  key: '`GET /v1/models`: and a key',
  route: '`POST /v1/route`: and body, profile, decision',
  pinned: 'chat with a pinned model',
  auto: 'chat with `auto`',
  full: 'and rules, budgets, limits',
};
/** The number of content chunks in every stream; see upstream.ts. */
const CHUNKS = 50;

type Of = (round: LadderRound) => number;
const all: Of = ({ cpu }) => cpu.all;

const figures = (cell: LadderCell, rung: Rung, of: Of): number[] => (cell.rungs.get(rung) ?? []).map(of);
const quartile = (cell: LadderCell, rung: Rung, of: Of): number => lowerQuartile(figures(cell, rung, of));
const ratio = (cell: LadderCell, rung: Rung, base: Rung = 'floor'): number =>
  quartile(cell, rung, all) / quartile(cell, base, all);

/** Returns the rungs of the smallest workload, with the CPU time of each kind of thread. */
export function rungTable(cells: readonly LadderCell[]): string {
  const of = (prompts: string) =>
    cells.find((cell) => cell.workload.name === JSON_200 && cell.inFlight === 64 && cell.prompts === prompts);
  const [own, same] = [of('own'), of('same')];
  if (!own || !same) return '';
  const row = (rung: Rung) => [
    TITLES[rung],
    fixed(quartile(own, rung, all)),
    fixed(ratio(own, rung), 2),
    fixed(ratio(own, rung, 'flat'), 2),
    fixed(quartile(own, rung, ({ cpu }) => cpu.main)),
    fixed(quartile(own, rung, ({ cpu }) => cpu.http)),
    fixed(quartile(own, rung, ({ cpu }) => cpu.engine)),
    fixed(ratio(same, rung), 2),
  ];
  const head = ['JSON, 200 B, 64 in flight', 'µs', 'ratio', '÷ flat', 'main', 'fetch', 'GC, JIT', 'ratio, same prompt'];
  return table([head, ...RUNGS.map(row)]);
}

/**
 * Returns the cost of the first requests of a new server, compared with its later requests and with the first requests of the flat gateway.
 */
export function startTable({ cells, starts }: Ladder): string {
  const flat = starts.find(({ rung }) => rung === 'flat');
  if (!flat) return '';
  const head = [
    `${cells[0]?.workload.name}, 64 in flight, own prompts: µs a request of a new server`,
    `first ${FIRST.toLocaleString('en')}`,
    'warm',
    'first ÷ warm',
    'first ÷ flat',
    'warm ÷ flat',
  ];
  const row = ({ rung, first, warm }: ColdStart) => {
    const ratios = [first / warm, first / flat.first, warm / flat.warm];
    return [TITLES[rung], fixed(first), fixed(warm), ...ratios.map((one) => fixed(one, 2))];
  };
  return table([head, ...starts.map(row)]);
}

/** Returns every workload with the ratio of each rung to the floor and to the flat gateway. */
export function workloadTable(cells: readonly LadderCell[]): string {
  const HEAD = [
    ...['request', 'prompts', 'in flight', 'floor µs', 'flat', 'route', 'pinned', '`auto`', 'full'],
    ...['pinned ÷ flat', '`auto` ÷ flat', 'full ÷ flat', 'µs a chunk'],
  ];
  const row = (cell: LadderCell): string[] => {
    const ratioOf = (rung: Rung) => (cell.rungs.has(rung) ? fixed(ratio(cell, rung), 2) : '–');
    const over = (quartile(cell, 'auto', all) - quartile(cell, 'floor', all)) / CHUNKS;
    return [
      cell.workload.name,
      cell.prompts,
      String(cell.inFlight),
      fixed(quartile(cell, 'floor', all)),
      ...(['flat', 'route', 'pinned', 'auto', 'full'] as const).map(ratioOf),
      ...(['pinned', 'auto', 'full'] as const).map((rung) => fixed(ratio(cell, rung, 'flat'), 2)),
      cell.workload.stream ? fixed(over, 2) : '–',
    ];
  };
  return table([HEAD, ...cells.map(row)]);
}

/** Returns the latency of one request at a time. */
export function aloneLine(cells: readonly LadderCell[]): string {
  const cell = cells.find(({ inFlight }) => inFlight === 1);
  if (!cell) return '';
  const p50 = (rung: Rung) => quartile(cell, rung, (round) => round.p50);
  const added = (rung: Rung) => fixed(p50(rung) - p50('floor'), 2);
  return `One at a time, the flat gateway adds ${added('flat')} ms to the p50 of the floor (${fixed(p50('floor'), 2)} ms), a pinned model ${added('pinned')} ms, \`auto\` ${added('auto')} ms, with rules and budgets ${added('full')} ms.`;
}

/** Returns a table with every figure. */
export function ladderTable(cells: readonly LadderCell[]): string {
  const HEAD = [
    ...[
      'request',
      'prompts',
      'in flight',
      'rung',
      'µs, lower quartile',
      'µs, median',
      'ratio',
      'ratio, medians',
      '÷ flat',
    ],
    ...['main', 'fetch', 'GC, JIT', 'p50 ms', 'p99 ms'],
  ];
  const rows = cells.flatMap((cell) =>
    [...cell.rungs.keys()].map((rung) => {
      const mid = (of: Of) => median(figures(cell, rung, of));
      return [
        cell.workload.name,
        cell.prompts,
        String(cell.inFlight),
        rung,
        fixed(quartile(cell, rung, all)),
        fixed(mid(all)),
        fixed(ratio(cell, rung), 2),
        fixed(mid(all) / median(figures(cell, 'floor', all)), 2),
        fixed(ratio(cell, rung, 'flat'), 2),
        fixed(quartile(cell, rung, ({ cpu }) => cpu.main)),
        fixed(quartile(cell, rung, ({ cpu }) => cpu.http)),
        fixed(quartile(cell, rung, ({ cpu }) => cpu.engine)),
        fixed(
          mid(({ p50 }) => p50),
          2,
        ),
        fixed(
          mid(({ p99 }) => p99),
          2,
        ),
      ];
    }),
  );
  return table([HEAD, ...rows]);
}
