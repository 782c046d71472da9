import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dir, '..', '..');

/** A function and the calls that it makes, in their order. */
interface Steps {
  readonly file: string;
  readonly name: string;
  readonly calls: readonly string[];
}

/** The lines `function: call → call` of the list of steps; a line without a file continues the one above it. */
function stepsOf(page: string): Steps[] {
  let file = '';
  return [...page.matchAll(/^ (?:\d \w+ +| +)(\S+\.ts)? +(?:(\w+): (.* → .*))?.*$/gm)].flatMap(
    ([, path, name, calls]) => {
      file = path ?? file;
      return name && calls ? [{ file, name, calls: calls.split(' → ') }] : [];
    },
  );
}

/** The text of a function at the top of a file. */
function bodyOf({ file, name }: Steps): string {
  const text = readFileSync(join(ROOT, 'src', file), 'utf8');
  const [body = ''] = new RegExp(`^(?:export )?(?:async )?function ${name}\\b[^]*?\\n}\\n`, 'm').exec(text) ?? [];
  return body;
}

/** The calls of a list as they first occur in a text; those that do not occur come last. */
const inOrder = (calls: readonly string[], body: string): string[] => {
  const placeOf = (call: string) => (body.includes(`${call}(`) ? body.indexOf(`${call}(`) : Number.POSITIVE_INFINITY);
  return [...calls]
    .sort((a, b) => placeOf(a) - placeOf(b))
    .map((call) => (body.includes(`${call}(`) ? call : `no ${call}`));
};

test('the steps of a request in docs/architecture.md are the calls in the files, in their order', () => {
  const steps = stepsOf(readFileSync(join(ROOT, 'docs/architecture.md'), 'utf8'));
  expect(steps.map(({ name }) => name)).toEqual(['answerCall', 'serveRequest', 'decideFunded', 'pinRequest']);
  for (const step of steps) expect(inOrder(step.calls, bodyOf(step)), step.name).toEqual([...step.calls]);
});
