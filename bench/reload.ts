import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { shipped } from '../plugins/index.ts';
import { rehearse } from '../src/admin/use-cases/policy/rehearse.ts';
import { createPluginLoader } from '../src/host/plugins/load.ts';
import { processTimers } from '../src/host/telemetry/process-timers.ts';
import { buildCandidate, isRejected, type PolicyTools } from '../src/policy/runtime/candidate.ts';
import { parseFiles } from '../src/policy/runtime/parse-files.ts';
import { createParser } from '../src/policy/runtime/parser.ts';
import { Reloader } from '../src/policy/runtime/reload.ts';
import { readBundle } from '../src/policy/runtime/source.ts';
import { watchPolicies } from '../src/policy/runtime/watch.ts';
import { largePolicy } from './large-policy.ts';
import { fixed, median, table } from './stats.ts';

/**
 * `npm run bench:reload`: edits a policy of 500 models and 200 rules by renaming, and polls the event loop every millisecond. The benchmark
 * measures how long it takes until the policy is active, how long the worker parses, and the longest time for which nothing else had its
 * turn.
 */
const MODELS = 500;
const RULES = 200;
const ROUNDS = process.argv.includes('--quick') ? 5 : 25;

const folder = mkdtempSync(join(tmpdir(), 'signalbox-bench-'));
const file = join(folder, 'policy.yaml');
const loader = createPluginLoader();
const inline: PolicyTools = {
  folder,
  shipped,
  loader,
  env: { get: () => undefined },
  now: Date.now,
  parse: parseFiles,
  rehearse,
};

writeFileSync(file, largePolicy(MODELS, RULES, 0));
const first = await buildCandidate(await readBundle(folder), inline);
if (isRejected(first)) throw new Error(first.message ?? JSON.stringify(first.problems.slice(0, 3)));

const parser = createParser();
let parseMs = 0;
const tools: PolicyTools = {
  ...inline,
  async parse(files, before) {
    const began = performance.now();
    const parsed = await parser.parse(files, before);
    parseMs = performance.now() - began;
    return parsed;
  },
};
let applied = () => {};
const reloader = new Reloader(first, {
  tools,
  prepare: async () => () => {},
  onAttempt: ({ result, message }) => {
    if (result === 'refused') throw new Error(message);
    applied();
  },
});
const watch = watchPolicies({
  folder,
  busyFolder: null,
  more: loader.files,
  onFirstEvent: parser.warm,
  onEdit: () => void reloader.reload('edit'),
  timers: processTimers,
});
await Bun.sleep(200);

/** Returns the CPU time of this thread in ms, which excludes other work on the machine. */
const threadMs = () => Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6;

interface Hold {
  readonly wall: number;
  readonly cpu: number;
}

/** The longest time between two turns of the event loop in ms, measured by the clock and by this thread's CPU time. */
let longest: Hold = { wall: 0, cpu: 0 };
let last: Hold = { wall: performance.now(), cpu: threadMs() };
const look = () => {
  const now: Hold = { wall: performance.now(), cpu: threadMs() };
  longest = { wall: Math.max(longest.wall, now.wall - last.wall), cpu: Math.max(longest.cpu, now.cpu - last.cpu) };
  last = now;
};
const looking = setInterval(look, 1);

const quiet = await roundOf(async () => Bun.sleep(500));
const rounds: { inForce: number; parse: number; wall: number; cpu: number }[] = [];
for (let i = 0; i <= ROUNDS; i++) {
  const text = largePolicy(MODELS, RULES, i + 1);
  await Bun.sleep(100);
  let inForce = 0;
  const hold = await roundOf(async () => {
    const done = new Promise<void>((resolve) => {
      applied = resolve;
    });
    writeFileSync(join(folder, '.new'), text);
    const began = performance.now();
    renameSync(join(folder, '.new'), file);
    await done;
    inForce = performance.now() - began;
    await Bun.sleep(20);
  });
  // The first edit also starts the worker.
  if (i > 0) rounds.push({ inForce, parse: parseMs, ...hold });
  else process.stderr.write(`first edit, with the start of the worker: ${fixed(inForce)} ms\n`);
}
clearInterval(looking);
watch.close();
parser.close();
rmSync(folder, { recursive: true });

async function roundOf(work: () => Promise<void>): Promise<Hold> {
  look();
  longest = { wall: 0, cpu: 0 };
  await work();
  look();
  return longest;
}

const of = (figure: 'inForce' | 'parse' | 'wall' | 'cpu') => rounds.map((round) => round[figure]);
const line = (name: string, figures: readonly number[]) => [name, fixed(median(figures)), fixed(Math.max(...figures))];
const rows = [
  ['ms', 'median', 'worst'],
  line('rename → in force', of('inForce')),
  line('of it in the worker, and back', of('parse')),
  line('longest hold of the event loop, CPU of its thread', of('cpu')),
  line('the same by the clock', of('wall')),
  ['the same by the clock, with nothing to do', fixed(quiet.wall), ''],
];
const { model } = cpus()[0]!;
process.stdout.write(
  `${MODELS} models, ${RULES} rules; ${ROUNDS} edits; ${cpus().length} cores (${model}), Bun ${Bun.version}.\n\n${table(rows)}\n`,
);
process.exit(0);
