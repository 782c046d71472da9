import { parseArgs } from 'node:util';
import { checkouts, comparedLine } from './checkouts.ts';
import { compare } from './compare.ts';
import { startBench } from './gateways.ts';
import { keyPauses } from './keys.ts';
import { climb, type LadderCell } from './ladder.ts';
import { aloneLine, ladderTable, rungTable, startTable, workloadTable } from './ladder-tables.ts';
import { modelLists } from './models.ts';
import { occasion, writePart } from './page.ts';
import { sparseFigures } from './sparse.ts';
import { startFigures } from './start.ts';
import { steps } from './steps.ts';
import { surfaces } from './surfaces.ts';
import { way } from './way.ts';
import { JSON_200, STREAM, workloadOf } from './workload.ts';
import { yardstick } from './yardstick.ts';

const HELP = `npm run bench [-- PART…] [FLAG…]

What a request costs. A PART runs alone:
  ladder     rung by rung: way, compare, and beside two floors
  way        in executed lines and objects, beside the baseline and the commit before
  compare    in CPU, beside the baseline and the commit before
  steps      step by step
  surfaces   in each dialect
  models     the list of models
  keys       how long others wait for changes of keys
  yardstick  beside published figures
  start      at the start of a server
  sparse     after a pause

  --only TEXT      workloads of the ladder and of the dialects, and rungs of the way, whose name has TEXT
  --before COMMIT  the commit before, by default HEAD if src or plugins have changed since, else its parent
  --quick          fewer rounds, for a look
  --write          put the tables into docs/benchmarks.md and bench/results/
`;

const { values: flags, positionals: asked } = parseArgs({
  allowPositionals: true,
  options: {
    only: { type: 'string', default: '' },
    before: { type: 'string', default: '' },
    quick: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
    help: { type: 'boolean', short: 'h', default: false },
  },
});
const { only, quick } = flags;
const SUMMARY = 'docs/benchmarks.md';
const FULL = 'bench/results/ladder.md';
const STEPS = 'bench/results/steps.md';
const SURFACES = 'bench/results/surfaces.md';

async function show(page: string, part: string, text: string): Promise<void> {
  process.stdout.write(`${text}\n\n`);
  if (flags.write) await writePart(page, part, text);
}

/** The summary has only one cell of each workload; the page of all figures has the other cells. */
const isSummarized = ({ prompts, inFlight }: LadderCell): boolean => prompts === 'own' && inFlight === 64;

async function ladder(): Promise<void> {
  await length();
  await comparison();
  await floors();
}

async function length(): Promise<void> {
  const compared = checkouts(flags.before);
  await show(
    STEPS,
    'way',
    `${occasion()}, ${comparedLine(compared)}.\n\n${await way(workloadOf(JSON_200), workloadOf(STREAM), only, compared)}`,
  );
}

async function comparison(): Promise<void> {
  const compared = checkouts(flags.before);
  const plan = { rounds: quick ? 5 : 13, laterWarmUp: quick ? 2_000 : 6_000, only };
  const how = `${occasion()}, ${comparedLine(compared)}, ${plan.rounds} interleaved rounds.`;
  await show(SUMMARY, 'compare', `${how}\n\n${await compare(compared, plan)}`);
}

async function floors(): Promise<void> {
  const rounds = quick ? 5 : 13;
  const plan = { rounds, laterWarmUp: quick ? 2_000 : 6_000, isQuick: quick, only };
  const bench = await startBench();
  try {
    const measured = await climb(bench, plan, (cell) => {
      process.stderr.write(`${workloadTable([cell]).split('\n')[2]}\n`);
    });
    const { cells } = measured;
    const how = `${occasion()}, ${rounds} interleaved rounds.`;
    const written = (tables: readonly string[]) => [how, ...tables.filter(Boolean)].join('\n\n');
    await show(FULL, 'ladder', written([ladderTable(cells), startTable(measured)]));
    const tables = [rungTable(cells), workloadTable(cells.filter(isSummarized)), aloneLine(cells)];
    await show(SUMMARY, 'ladder', written(tables));
  } finally {
    await bench.stop();
  }
}

/** The parts that `ladder` contains. */
const IN_LADDER: readonly string[] = ['way', 'compare'];
const PARTS: Readonly<Record<string, () => Promise<void>>> = {
  ladder,
  steps: async () => {
    const plan = quick ? { rounds: 5, requests: 500, warmUp: 5_000 } : { rounds: 25, requests: 500, warmUp: 20_000 };
    const how = `${occasion()}, JSON of 200 B, prompts of their own, 64 in flight, ${plan.rounds} interleaved rounds.`;
    await show(STEPS, 'steps', `${how}\n\n${await steps(plan)}`);
  },
  way: length,
  compare: comparison,
  surfaces: async () => {
    const plan = quick ? { rounds: 5, warmUp: 6_000 } : { rounds: 25, warmUp: 20_000 };
    await show(
      SURFACES,
      'surfaces',
      `${occasion()}, ${plan.rounds} interleaved rounds.\n\n${await surfaces(plan, only)}`,
    );
  },
  models: async () => {
    const plan = quick ? { rounds: 5, requests: 1_000 } : { rounds: 15, requests: 2_000 };
    await show(SURFACES, 'models', `${occasion()}, ${plan.rounds} rounds in turns.\n\n${await modelLists(plan)}`);
  },
  yardstick: async () => {
    const plan = quick ? { rounds: 3, requests: 1_000, warmUp: 5_000 } : { rounds: 9, requests: 4_000, warmUp: 20_000 };
    await show(STEPS, 'yardstick', `${occasion()}.\n\n${await yardstick(plan)}`);
  },
  keys: async () => {
    await show(STEPS, 'keys', `${occasion()}.\n\n${await keyPauses(quick ? 40 : 200)}`);
  },
  start: async () => {
    const plan = quick ? { starts: 3, load: 5_000 } : { starts: 11, load: 50_000 };
    await show(STEPS, 'start', `${occasion()}.\n\n${await startFigures(plan)}`);
  },
  sparse: async () => {
    const plan = quick ? { rounds: 3, pauses: [0, 2] } : { rounds: 7, pauses: [0, 1, 5, 30] };
    const bench = await startBench();
    try {
      const how = `${occasion()}, JSON of 200 B, ${plan.rounds} rounds in turns.`;
      await show(
        STEPS,
        'sparse',
        `${how}

${await sparseFigures(bench, plan)}`,
      );
    } finally {
      await bench.stop();
    }
  },
};

async function main(): Promise<void> {
  const unknown = asked.filter((name) => !Object.hasOwn(PARTS, name));
  if (flags.help || unknown.length > 0) {
    process.stdout.write(unknown.length > 0 ? `No part is named ${unknown.join(', ')}.\n\n${HELP}` : HELP);
    process.exit(unknown.length > 0 ? 2 : 0);
  }
  for (const [name, measure] of Object.entries(PARTS)) {
    if (asked.includes(name) || (asked.length === 0 && !IN_LADDER.includes(name))) await measure();
  }
}

main().then(
  () => process.exit(0),
  (error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
    process.exit(1);
  },
);
