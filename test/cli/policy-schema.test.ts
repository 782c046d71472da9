import { afterAll, expect, test } from 'bun:test';
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { policyHere } from '../support/policy-command.ts';
import { writePolicy } from '../support/signalbox.ts';

const folder = writePolicy('version: 1\n');
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('a schema that cannot be written is told of in a sentence, and leaves nothing behind', async () => {
  const path = join(folder, 'policy.schema.json');
  mkdirSync(join(path, 'in-its-place'), { recursive: true });
  const { code, out, err } = await policyHere(['schema', folder, '--write'], { folder, data: folder, env: {} });
  expect({ code, out }).toEqual({ code: 1, out: '' });
  expect(err).toStartWith(`${path} cannot be written: `);
  expect(err).toEndWith('.');
  expect(readdirSync(folder).sort()).toEqual(['policy.schema.json', 'policy.yaml']);
});
