import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { useSignalbox } from '../support/use.ts';

const PAGE = readFileSync(join(import.meta.dir, '../../docs/spend/idempotency.md'), 'utf8');

interface Operation {
  readonly requestBody?: {
    readonly content: Readonly<Record<string, { readonly examples?: Readonly<Record<string, { value: object }>> }>>;
  };
}

const box = useSignalbox();

/** Sends the first example of each route that changes anything, with a header that no reader of it accepts. */
async function routesThatRead(): Promise<{ readers: string[]; routes: string[] }> {
  const document = await (await fetch(`${box.url}/docs/json`)).json();
  const { paths } = document as { paths: Readonly<Record<string, Readonly<Record<string, Operation>>>> };
  const all = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  );
  const changing = all.filter((route) => route.method !== 'GET');
  const readers: string[] = [];
  for (const { path, method, operation } of changing) {
    const [example] = Object.values(operation.requestBody?.content['application/json']?.examples ?? {});
    const answer = await fetch(box.url + path.replace(/\{\w+\}/g, 'some'), {
      method,
      headers: { authorization: `Bearer ${box.key}`, 'content-type': 'application/json', 'idempotency-key': 'é' },
      body: JSON.stringify(example?.value ?? {}),
    });
    if ((await answer.text()).includes('`Idempotency-Key` must have')) readers.push(`${method} ${path}`);
  }
  return { readers, routes: changing.map(({ method, path }) => `${method} ${path}`) };
}

test('docs/spend/idempotency.md names every route that reads the header, and no other', async () => {
  const named = [...PAGE.matchAll(/^- `([A-Z]+ \/[^`]*)`/gm)].map(([, route]) => route!);
  expect(named.length).toBeGreaterThan(1);
  expect(PAGE).toContain('- every `POST`, `PATCH`, `PUT` and `DELETE` under `/admin/`');
  expect(PAGE).toContain('but `POST /admin/playground`');
  const { readers, routes } = await routesThatRead();
  const ofAdmin = routes.filter((route) => route.includes(' /admin/') && route !== 'POST /admin/playground');
  expect(readers.toSorted()).toEqual([...named, ...ofAdmin].toSorted());
});
