import { expect, test } from 'bun:test';
import { readdirSync, rmSync } from 'node:fs';
import fc from 'fast-check';
import {
  BASE,
  editedBy,
  forms,
  GUARDED,
  names,
  ORDINARY,
  PLAIN,
  written,
} from '../admin/use-cases/policy/guarded-edits.ts';
import { useLivePolicy } from '../support/use.ts';

/** The law of guarded edits, tested with `PUT /admin/policy/files` as an owner, on a server that accepts no guarded edits. */
const textsOf = (...form: Parameters<typeof written>) =>
  Object.fromEntries(written(...form).map(({ path, text }) => [path, text]));
const live = useLivePolicy(() => textsOf(BASE, PLAIN), {
  env: { FIRST_KEY: 'sk-first-81f2c9d07ab4', OPS_URL: 'https://ops.example', OPS_SECRET: 'whsec-51d2f0a97c3e84b6d1' },
});

interface ShownFiles {
  readonly revision: string;
  readonly files: readonly { readonly name: string; readonly text: string }[];
}
const shown = async (): Promise<ShownFiles> =>
  (await live.box.get('/admin/policy/files')).json() as Promise<ShownFiles>;

/** Replaces all files of the policy by these files. @returns the status and the code of the answer */
async function put(texts: Readonly<Record<string, string>>): Promise<readonly [number, string | null]> {
  const { revision, files } = await shown();
  const now = new Map(files.map(({ name, text }) => [name, text]));
  const gone = [...now.keys()].filter((name) => !(name in texts)).map((name) => ({ name, text: null }));
  const changes = [...gone, ...Object.entries(texts).map(([name, text]) => ({ name, text }))];
  const response = await fetch(`${live.box.url}/admin/policy/files`, {
    method: 'PUT',
    headers: {
      authorization: `Bearer ${live.box.key}`,
      'content-type': 'application/json',
      'if-match': `"${revision}"`,
    },
    body: JSON.stringify({ changes }),
  });
  const { error } = (await response.json()) as { error?: { code: string } };
  return [response.status, error?.code ?? null];
}

/** Activates the policy that every edit begins from, through the files on disk, because adding a provider again is a guarded edit. */
async function begin(): Promise<ShownFiles> {
  for (const name of readdirSync(live.folder)) rmSync(live.file(name));
  for (const [name, text] of Object.entries(textsOf(BASE, PLAIN))) live.write(name, text);
  expect((await live.reload()).status).toBe(200);
  return await shown();
}

const SEED = 47;
/** As many disguises as edits, each with the ordinary edits that hide the guarded edit. */
const disguises = (of: object) =>
  fc.sample(fc.tuple(forms, names(ORDINARY, 0)), { seed: SEED, numRuns: Object.keys(of).length });

test(`the server writes no guarded edit of a policy, whatever edits hide it and in whatever form (seed ${SEED})`, async () => {
  const before = await begin();
  for (const [at, [form, ordinary]] of disguises(GUARDED).entries()) {
    const name = Object.keys(GUARDED)[at]!;
    const answer = await put(textsOf(editedBy(ordinary, [name]), form));
    expect([name, form, ordinary, answer]).toEqual([name, form, ordinary, [403, 'insufficient_permissions']]);
    expect(await shown()).toEqual(before);
  }
});

test(`the server writes every ordinary edit of a policy, in every form (seed ${SEED})`, async () => {
  for (const [at, [form]] of disguises(ORDINARY).entries()) {
    const name = Object.keys(ORDINARY)[at]!;
    await begin();
    expect([name, form, await put(textsOf(editedBy([name], []), form))]).toEqual([name, form, [200, null]]);
  }
});
