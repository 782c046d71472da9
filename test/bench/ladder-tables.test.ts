import { expect, test } from 'bun:test';
import type { LadderCell, LadderRound, Rung } from '../../bench/ladder.ts';
import { aloneLine, ladderTable, rungTable, startTable, workloadTable } from '../../bench/ladder-tables.ts';
import { WORKLOADS } from '../../bench/workload.ts';

const COSTS = { floor: 50, flat: 80, healthz: 20, key: 30, route: 100, pinned: 160, auto: 200, full: 320 };

const round = (cost: number): LadderRound => ({
  cpu: { all: cost, main: cost, http: 0, engine: 0 },
  p50: cost / 100,
  p99: cost / 50,
});

function cellOf(prompts: 'own' | 'same', inFlight: number): LadderCell {
  const rungs = new Map<Rung, readonly LadderRound[]>();
  for (const rung of Object.keys(COSTS) as Rung[]) rungs.set(rung, [round(COSTS[rung])]);
  return { workload: WORKLOADS[0]!, prompts, inFlight, rungs };
}

/** The cells of a table by the title of their row and column. */
function readTable(text: string): (row: RegExp, column: string) => string {
  const [head, , ...rows] = text.split('\n').map((line) => line.split('|').map((cell) => cell.trim()));
  return (row, column) => rows.find((cells) => row.test(cells.join('|')))![head!.indexOf(column)]!;
}

const cells = [cellOf('own', 64), cellOf('same', 64), cellOf('own', 1)];

test('every table of the ladder compares each rung with the bare proxy and with the flat gateway', () => {
  const rungs = readTable(rungTable(cells));
  expect([rungs(/flat gateway/, 'ratio'), rungs(/pinned/, '÷ flat'), rungs(/`auto`/, '÷ flat')]).toEqual([
    '1.60',
    '2.00',
    '2.50',
  ]);
  const workloads = readTable(workloadTable(cells));
  const compared = ['floor µs', 'flat', 'pinned', 'pinned ÷ flat', '`auto` ÷ flat', 'full ÷ flat'];
  expect(compared.map((column) => workloads(/own\|64/, column))).toEqual([
    '50.0',
    '1.60',
    '3.20',
    '2.00',
    '2.50',
    '4.00',
  ]);
  const all = readTable(ladderTable(cells));
  expect([all(/own\|64\|flat/, 'ratio'), all(/own\|64\|auto/, '÷ flat')]).toEqual(['1.60', '2.50']);
  expect(aloneLine(cells)).toContain('0.30 ms');
});

test('the tables compare the first requests of a new server with its later requests and with the flat gateway’s first requests', () => {
  const starts = [
    { rung: 'flat', first: 100, warm: 80 },
    { rung: 'auto', first: 500, warm: 200 },
  ] as const;
  const read = readTable(startTable({ cells, starts }));
  expect(['first ÷ warm', 'first ÷ flat', 'warm ÷ flat'].map((column) => read(/`auto`/, column))).toEqual([
    '2.50',
    '5.00',
    '2.50',
  ]);
});
