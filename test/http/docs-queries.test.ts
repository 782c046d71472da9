import { beforeAll, expect, test } from 'bun:test';
import { openApiOf } from '../support/openapi.ts';
import { useSignalbox } from '../support/use.ts';

/** Compares the OpenAPI document's description of queries and bodies with the answers of the server. */
const box = useSignalbox();

interface Schema {
  readonly enum?: readonly string[];
  readonly not?: unknown;
  readonly pattern?: string;
  readonly minLength?: number;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly contentSchema?: object;
  readonly anyOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
}
interface ListOperation {
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly schema: Schema }[];
  readonly requestBody?: { readonly content: { readonly 'application/json': { readonly schema: Schema } } };
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, { readonly schema: Schema }>> }>
  >;
}
interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, ListOperation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}
let paths: OpenApi['paths'];
let schemas: OpenApi['components']['schemas'];
beforeAll(async () => {
  const document = await openApiOf<OpenApi>(box.url);
  paths = document.paths;
  schemas = document.components.schemas;
});

test('the server accepts the words that the document lists for a query parameter, and refuses others with the parameter’s name', async () => {
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

/** Returns the schema and its parts. */
const partsOf = (schema: Schema): readonly Schema[] => [
  schema,
  ...[...(schema.anyOf ?? []), ...(schema.allOf ?? []), ...(schema.items ? [schema.items] : [])].flatMap(partsOf),
];
const isForm = ({ pattern, minLength }: Schema) => pattern !== undefined || minLength !== undefined;
const bodyOf = (path: string) => paths[path]?.post?.requestBody?.content['application/json'].schema;

test('the server refuses an empty text for a query parameter with a documented form, with the parameter’s name', async () => {
  const found = Object.entries(paths).flatMap(([path, { get }]) =>
    (get?.parameters ?? []).flatMap(({ name, in: place, schema }) =>
      place === 'query' && !path.includes('{') && partsOf(schema).some(isForm) ? [{ path, name }] : [],
    ),
  );
  const names = found.map(({ path, name }) => `${path} ${name}`);
  for (const one of ['/admin/keys after', '/admin/trail from', '/v1/models after_id', '/admin/subjects before'])
    expect(names).toContain(one);
  for (const { path, name } of found) {
    const answer = await box.get(`${path}?${name}=`);
    const { error } = (await answer.json()) as { error?: { param: string } };
    expect([path, answer.status, error?.param]).toEqual([path, 400, name]);
  }
});

test('the document requires the name of a new team, and forbids control characters, as the server does', async () => {
  expect(bodyOf('/admin/teams')?.required).toEqual(['name']);
  expect((await box.post('/admin/teams', {})).status).toBe(400);
  const [form] = partsOf(bodyOf('/admin/keys')?.properties?.name ?? {}).filter(isForm);
  const pattern = new RegExp(form?.pattern ?? '', 'u');
  for (const [name, status] of [
    ['billing – 請求', 200],
    ['two\nlines', 400],
    ['turned \u202e round', 400],
  ] as const) {
    const answer = await box.post('/admin/keys', { name });
    expect([name, pattern.test(name), answer.status]).toEqual([name, status === 200, status]);
  }
});

test('the document says that the data of an event is JSON of a given schema', () => {
  for (const path of ['/v1/chat/completions', '/v1/messages', '/v1/responses']) {
    const { schema } = paths[path]?.post?.responses['200']?.content?.['text/event-stream'] ?? {};
    const [data] = partsOf(schema?.properties?.data ?? {}).filter(({ contentSchema }) => contentSchema);
    expect([path, Object.keys(data?.contentSchema ?? {})]).toEqual([path, ['$ref']]);
  }
});

test('the document forbids a grant of 0 and an invalid wallet address, as the server does', async () => {
  const { credits } = bodyOf('/admin/keys/{id}/grant')?.properties ?? {};
  expect(JSON.stringify(credits)).toContain('"not":{"const":0}');
  const wallet = schemas.ChatCompletionRequest?.properties?.agent_wallet;
  const pattern = partsOf(wallet ?? {}).find(isForm)?.pattern ?? '';
  expect(pattern).not.toBe('');
  const messages = [{ role: 'user', content: 'Say hello.' }];
  for (const text of ['', 'wallet', '0x12', `0x${'g'.repeat(40)}`]) {
    const answer = await box.post('/v1/chat/completions', { model: 'auto', messages, agent_wallet: text });
    expect([text, new RegExp(pattern).test(text), answer.status]).toEqual([text, false, 400]);
  }
});
