import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { newKey, startFloor, startSignalbox, startUpstream, temporaryFolder } from './gateways.ts';
import { type Requests, run } from './load.ts';
import { benchPolicy } from './policy.ts';
import { cpuMicros, type Program } from './process.ts';
import { fixed, lowerQuartile, table } from './stats.ts';
import { CUTS, type Cut, type Patch } from './step-patches.ts';
import { bytesOf, httpBytes, WORKLOADS } from './workload.ts';

/**
 * Measures the cost of each step of a request in running servers. Each server is a copy of the source with a few patched lines, so that it
 * answers at once at a point of the request path, or leaves one thing out. All servers take turns.
 */
export interface StepsPlan {
  readonly rounds: number;
  readonly requests: number;
  readonly warmUp: number;
}

interface Lane {
  readonly cut: Cut | null;
  readonly program: Program;
  readonly requests: Requests;
  /** CPU time in µs per request, by round. */
  readonly cpu: number[];
}

const IN_FLIGHT = 64;
const ROOT = join(import.meta.dir, '..');
/** The files that a server reads from a clone. */
const PARTS = ['src', 'plugins', 'policies', 'package.json', 'tsconfig.json'];

/** Returns the text of a file with a patch. @throws Error if the patch does not fit exactly once */
function patched(text: string, { file, find, replace }: Patch): string {
  const [before, after, ...others] = text.split(find);
  if (after === undefined || others.length > 0)
    throw new Error(`${file} must have exactly one ${JSON.stringify(find)}`);
  return `${before}${replace}${after}`;
}

/** Returns the files that a cut patches, by path from the root. */
function patchedFiles({ patches }: Cut): Map<string, string> {
  const files = new Map<string, string>();
  for (const patch of patches) {
    const text = files.get(patch.file) ?? readFileSync(join(ROOT, patch.file), 'utf8');
    files.set(patch.file, patched(text, patch));
  }
  return files;
}

/** Creates a patched copy of the source. @returns its folder */
function copyWith(cut: Cut): string {
  const folder = temporaryFolder();
  for (const part of PARTS) cpSync(join(ROOT, part), join(folder, part), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  for (const [file, text] of patchedFiles(cut)) writeFileSync(join(folder, file), text);
  return folder;
}

/** @returns two tables: the cost up to each point of the request path, and the cost with one thing left out */
export async function steps({ rounds, requests, warmUp }: StepsPlan): Promise<string> {
  const upstream = await startUpstream();
  const address = `http://127.0.0.1:${upstream.port}/v1`;
  const key = newKey();
  const laneOf = (cut: Cut | null, program: Program): Lane => {
    const body = { model: 'auto', ...WORKLOADS[0]!.fields };
    const bytes = httpBytes(program.port, '/v1/chat/completions', key, body);
    return { cut, program, requests: bytesOf(bytes, 'own'), cpu: [] };
  };
  const lanes = [laneOf(null, await startFloor(address))];
  try {
    for (const cut of CUTS) {
      const folder = temporaryFolder();
      writeFileSync(join(folder, 'policy.yaml'), benchPolicy(address));
      const args = ['--data', join(folder, 'data'), '--policies', folder];
      lanes.push(laneOf(cut, await startSignalbox(args, key, {}, copyWith(cut))));
    }
    for (const lane of lanes) await run(lane.program.port, lane.requests, IN_FLIGHT, warmUp);
    for (let round = 0; round < rounds; round++) {
      // Another server begins each round, so that no server always follows the same neighbour.
      for (let at = 0; at < lanes.length; at++) {
        const { program, requests: next, cpu } = lanes[(at + round) % lanes.length]!;
        const before = cpuMicros(program.pid);
        await run(program.port, next, IN_FLIGHT, requests);
        cpu.push((cpuMicros(program.pid) - before) / requests);
      }
    }
    return tables(lanes);
  } finally {
    await Promise.all([upstream, ...lanes.map(({ program }) => program)].map((program) => program.stop()));
  }
}

function tables([floor, ...lanes]: readonly Lane[]): string {
  const least = lowerQuartile(floor!.cpu);
  const of = (kind: Cut['kind']) =>
    lanes.flatMap(({ cut, cpu }) => (cut?.kind === kind ? [{ name: cut.name, micros: lowerQuartile(cpu) }] : []));
  const upTo = of('up to');
  const whole = upTo.at(-1)!.micros;
  const steps = upTo.map(({ name, micros }, at) => [
    name,
    fixed(micros, 0),
    fixed(micros - (upTo[at - 1]?.micros ?? 0), 0),
  ]);
  const without = of('without').map(({ name, micros }) => [name, fixed(micros, 0), fixed(whole - micros, 0)]);
  return [
    table([['up to here', 'µs', 'more'], ['the floor', fixed(least, 0), ''], ...steps]),
    table([['everything, without', 'µs', 'less'], ...without]),
  ].join('\n\n');
}
