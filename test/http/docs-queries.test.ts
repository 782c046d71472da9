import { beforeAll, expect, test } from 'bun:test';
import { useSignalbox } from '../support/use.ts';

/** The OpenAPI document's terms for queries and bodies, against the answers of the server. */
const box = useSignalbox();

interface Schema {
  readonly enum?: readonly string[];
  readonly not?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly allOf?: readonly { readonly pattern?: string }[];
  readonly properties?: Readonly<Record<string, Schema>>;
}
interface ListOperation {
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly schema: Schema }[];
  readonly requestBody?: { readonly content: { readonly 'application/json': { readonly schema: Schema } } };
}
interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, ListOperation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}
let paths: OpenApi['paths'];
let schemas: OpenApi['components']['schemas'];
beforeAll(async () => {
  const document = (await (await fetch(`${box.url}/docs/json`)).json()) as OpenApi;
  paths = document.paths;
  schemas = document.components.schemas;
});

test('each query parameter with a list of words in the document accepts these words and refuses others, by its name', async () => {
  const found = Object.entries(paths).flatMap(([path, { get }]) =>
    (get?.parameters ?? []).flatMap(({ name, schema }) =>
      (schema.enum ?? []).length > 0 && !path.includes('{') ? [{ path, name, words: schema.enum ?? [] }] : [],
    ),
  );
  const names = found.map(({ path, name }) => `${path} ${name}`);
  for (const one of ['/admin/keys state', '/admin/users role', '/admin/decisions status', '/admin/trail action'])
    expect(names).toContain(one);
  for (const { path, name, words } of found) {
    const answers = [...words, 'no such word'].map(async (word) => {
      const answer = await box.get(`${path}?${name}=${encodeURIComponent(word)}`);
      const { error } = answer.status === 400 ? ((await answer.json()) as { error: { param: string } }) : {};
      return error?.param ?? answer.status;
    });
    expect([path, ...(await Promise.all(answers))]).toEqual([path, ...words.map(() => 200), name]);
  }
});

test('the document forbids a grant of 0 and a wallet that is no address, which the server refuses', async () => {
  const grant = paths['/admin/keys/{id}/grant']?.post?.requestBody?.content['application/json'].schema;
  expect(grant?.properties?.credits?.not).toEqual({ const: 0 });
  const wallet = schemas.ChatCompletionRequest?.properties?.agent_wallet;
  const [pattern = ''] = [wallet, ...(wallet?.anyOf ?? [])].flatMap((schema) => schema?.allOf?.[0]?.pattern ?? []);
  expect(pattern).not.toBe('');
  const messages = [{ role: 'user', content: 'Say hello.' }];
  for (const text of ['', 'wallet', '0x12', `0x${'g'.repeat(40)}`]) {
    const answer = await box.post('/v1/chat/completions', { model: 'auto', messages, agent_wallet: text });
    expect([text, new RegExp(pattern).test(text), answer.status]).toEqual([text, false, 400]);
  }
});
