import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Value } from '@sinclair/typebox/value';
import { parseJson } from '../../core/json/object.ts';
import { UsageError } from '../../core/usage-error.ts';
import { ExpectedAnswer, type Sample } from '../conformance/samples.ts';

/** Matches for example `hello.stream` and `hello.reply`. */
const SAMPLE = /^(.+)\.(reply|stream)$/;

/**
 * Reads the recorded answers in the folder `samples/` of a plugin. Answers of the provider `a` are in `samples/a/`. Answers for any
 * provider are in `samples/` itself and have the name `''`. Throws UsageError for an invalid expectation.
 */
export function samplesBeside(folder: string): Record<string, readonly Sample[]> {
  const home = join(folder, 'samples');
  if (!existsSync(home)) return {};
  const inner = readdirSync(home, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  const all = [['', home] as const, ...inner.map(({ name }) => [name, join(home, name)] as const)];
  return Object.fromEntries(all.map(([name, at]) => [name, samplesIn(at)]));
}

function samplesIn(folder: string): Sample[] {
  return readdirSync(folder)
    .sort()
    .flatMap((file) => {
      const [, name = '', kind] = SAMPLE.exec(file) ?? [];
      if (kind !== 'reply' && kind !== 'stream') return [];
      const text = readFileSync(join(folder, file), 'utf8');
      return [{ name: file, kind, text, expect: expectationOf(join(folder, `${name}.expect.json`)) } satisfies Sample];
    });
}

function expectationOf(file: string): ExpectedAnswer | null {
  if (!existsSync(file)) return null;
  const value = parseJson(readFileSync(file, 'utf8'));
  if (value === undefined) throw new UsageError(`${file} is not JSON. Write the expected answer as a JSON object.`);
  if (Value.Check(ExpectedAnswer, value)) return value;
  const error = Value.Errors(ExpectedAnswer, value).First();
  const known = Object.keys(ExpectedAnswer.properties).join(', ');
  const where =
    error && error.path !== '' ? `: \`${error.path.slice(1).replaceAll('/', '.')}\` has the wrong form` : '';
  throw new UsageError(
    `${file} is not a valid expectation${where}. It must be an object with the optional keys ${known}.`,
  );
}
