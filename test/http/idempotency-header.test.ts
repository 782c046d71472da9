import { expect, test } from 'bun:test';
import { answerRoutesOf } from '../../src/dialects/surface.ts';
import { SURFACES } from '../../src/dialects/surfaces.ts';
import { openApiOf } from '../support/openapi.ts';
import { useSignalbox } from '../support/use.ts';

interface Operation {
  readonly parameters?: readonly { readonly name: string }[];
  readonly requestBody?: {
    readonly content: Readonly<Record<string, { readonly examples?: Readonly<Record<string, { value: object }>> }>>;
  };
}

const box = useSignalbox();
/** Model requests, whose documentation mentions the header in its text. */
const OF_MODELS = answerRoutesOf(SURFACES).map(({ route: { path } }) => `POST ${path}`);
const OF_KEYS = ['POST /v1/keys', 'DELETE /v1/keys/{id}'];

test('chats, embeddings, changes of own keys, and every change below /admin/ except the playground refuse an invalid Idempotency-Key, and the document lists the header for changes', async () => {
  const { paths } = await openApiOf<{ paths: Readonly<Record<string, Readonly<Record<string, Operation>>>> }>(box.url);
  const changing = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([method]) => method !== 'get')
      .map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  );
  const named = (operation: Operation) => operation.parameters?.some(({ name }) => name === 'Idempotency-Key') ?? false;
  const documented = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([, operation]) => named(operation))
      .map(([method]) => `${method.toUpperCase()} ${path}`),
  );
  const readers: string[] = [];
  for (const { path, method, operation } of changing) {
    const [example] = Object.values(operation.requestBody?.content['application/json']?.examples ?? {});
    const answer = await fetch(box.url + path.replace(/\{\w+\}/g, 'some'), {
      method,
      headers: { authorization: `Bearer ${box.key}`, 'content-type': 'application/json', 'idempotency-key': 'é' },
      body: JSON.stringify(example?.value ?? {}),
    });
    // Each dialect has its own error format.
    if ((await answer.text()).includes('Idempotency-Key')) readers.push(`${method} ${path}`);
  }
  const ofAdmin = changing
    .map(({ method, path }) => `${method} ${path}`)
    .filter((route) => route.includes(' /admin/') && route !== 'POST /admin/playground');
  expect(ofAdmin.length).toBeGreaterThan(20);
  expect(readers.toSorted()).toEqual([...OF_MODELS, ...OF_KEYS, ...ofAdmin].toSorted());
  expect(documented.toSorted()).toEqual([...OF_KEYS, ...ofAdmin].toSorted());
});
