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
async function routesThatRead(): Promise<string[]> {
  const document = await (await fetch(`${box.url}/docs/json`)).json();
  const { paths } = document as { paths: Readonly<Record<string, Readonly<Record<string, Operation>>>> };
  const routes = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  );
  const readers: string[] = [];
  for (const { path, method, operation } of routes.filter((route) => route.method !== 'GET')) {
    const [example] = Object.values(operation.requestBody?.content['application/json']?.examples ?? {});
    const answer = await fetch(box.url + path.replace(/\{\w+\}/g, 'some'), {
      method,
      headers: { authorization: `Bearer ${box.key}`, 'content-type': 'application/json', 'idempotency-key': 'é' },
      body: JSON.stringify(example?.value ?? {}),
    });
    if ((await answer.text()).includes('`Idempotency-Key` must have')) readers.push(`${method} ${path}`);
  }
  return readers;
}

test('docs/spend/idempotency.md names every route that reads the header, and no other', async () => {
  const named = [...PAGE.matchAll(/^- `([A-Z]+ \/[^`]*)`/gm)].map(([, route]) => route!);
  expect(named.length).toBeGreaterThan(1);
  expect(named.toSorted()).toEqual((await routesThatRead()).toSorted());
});
