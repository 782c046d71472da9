import { expect, test } from 'bun:test';
import { SURFACES } from '../../src/surface/surfaces.ts';
import { useSignalbox } from '../support/use.ts';

interface Operation {
  readonly requestBody?: {
    readonly content: Readonly<Record<string, { readonly examples?: Readonly<Record<string, { value: object }>> }>>;
  };
}

const box = useSignalbox();
/** Routes outside `/admin/` that take the header. */
const OTHERS = [...SURFACES.map(({ path }) => `POST ${path}`), 'POST /v1/keys', 'DELETE /v1/keys/{id}'];

test('chats, embeddings, changes of own keys, and every change below /admin/ but the playground refuse an Idempotency-Key that they cannot read', async () => {
  const document = await (await fetch(`${box.url}/openapi.json`)).json();
  const { paths } = document as { paths: Readonly<Record<string, Readonly<Record<string, Operation>>>> };
  const changing = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([method]) => method !== 'get')
      .map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  );
  const readers: string[] = [];
  for (const { path, method, operation } of changing) {
    const [example] = Object.values(operation.requestBody?.content['application/json']?.examples ?? {});
    const answer = await fetch(box.url + path.replace(/\{\w+\}/g, 'some'), {
      method,
      headers: { authorization: `Bearer ${box.key}`, 'content-type': 'application/json', 'idempotency-key': 'é' },
      body: JSON.stringify(example?.value ?? {}),
    });
    // Each dialect has errors of its own form.
    if ((await answer.text()).includes('Idempotency-Key')) readers.push(`${method} ${path}`);
  }
  const ofAdmin = changing
    .map(({ method, path }) => `${method} ${path}`)
    .filter((route) => route.includes(' /admin/') && route !== 'POST /admin/playground');
  expect(ofAdmin.length).toBeGreaterThan(20);
  expect(readers.toSorted()).toEqual([...OTHERS, ...ofAdmin].toSorted());
});
