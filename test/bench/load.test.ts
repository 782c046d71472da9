import { expect, test } from 'bun:test';
import { run } from '../../bench/load.ts';
import { withPart } from '../../bench/page.ts';
import { benchPolicy, fullPolicy, governedPolicy } from '../../bench/policy.ts';
import { cpuMeter } from '../../bench/process.ts';
import { lowerQuartile, table } from '../../bench/stats.ts';
import { bytesOf, httpBytes, WORKLOADS } from '../../bench/workload.ts';
import { shipped } from '../../plugins/index.ts';
import { createRegistry } from '../../src/host/plugins/registry.ts';
import { loadPolicy } from '../../src/policy/load.ts';
import { startOwnServer } from '../support/own-server.ts';

const decode = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);

// Sessions grow, so their requests are not made from a template.
const OF_TEMPLATES = WORKLOADS.filter(({ sessionBytes }) => sessionBytes === undefined);

test.each(OF_TEMPLATES.map((workload) => [workload.name, workload] as const))(
  '%s: each request has its own prompt, or all have the same, and its head states the length of its body',
  (_, { fields }) => {
    const template = httpBytes(80, '/v1/chat/completions', 'key', { model: 'auto', ...fields });
    const next = bytesOf(template, 'own');
    const texts = Array.from({ length: 300 }, () => decode(next()));
    expect(new Set(texts).size).toBe(300);
    const repeat = bytesOf(template, 'same');
    expect(new Set(Array.from({ length: 10 }, () => decode(repeat()))).size).toBe(1);
    for (const text of [...texts.slice(0, 3), decode(repeat())]) {
      expect(text).not.toContain('qzxwvk');
      const [head, body] = text.split('\r\n\r\n');
      expect(Number(/content-length: (\d+)/.exec(head!)?.[1])).toBe(Buffer.byteLength(body!));
      expect(JSON.parse(body!)).toMatchObject({ model: 'auto' });
    }
  },
);

test('bytes under way are not changed by the next request', () => {
  const next = bytesOf(httpBytes(80, '/', 'key', WORKLOADS[0]!.fields), 'own');
  const first = next();
  const text = decode(first);
  next();
  expect(decode(first)).toBe(text);
});

test('the policies of the benchmarks are valid', () => {
  for (const policyFor of [benchPolicy, governedPolicy, fullPolicy]) {
    const text = policyFor('http://127.0.0.1:9/v1');
    const env = { get: () => undefined };
    const files = [{ path: 'policy.yaml', text }];
    const { diagnostics } = loadPolicy(files, { env, ...createRegistry(shipped), revisionOf: () => 'bench' });
    expect(diagnostics).toEqual([]);
  }
});

test('a part of a page is replaced between its marks alone', () => {
  const page = 'a\n<!-- made: x -->\nold\n<!-- end -->\nb\n<!-- made: y -->\n<!-- end -->\n';
  const made = withPart(withPart(page, 'x', 'new $1'), 'y', 'more');
  expect(made).toBe('a\n<!-- made: x -->\n\nnew $1\n\n<!-- end -->\nb\n<!-- made: y -->\n\nmore\n\n<!-- end -->\n');
  expect(withPart(made, 'x', 'new $1')).toBe(made);
  expect(() => withPart(page, 'z', '')).toThrow('no place for z');
});

test('tables are aligned, and a lower quartile does not depend on the order', () => {
  expect(
    table([
      ['name', 'µs'],
      ['a', '1.0'],
    ]),
  ).toBe('| name |   µs |\n| ---- | ---: |\n| a    |  1.0 |');
  expect(lowerQuartile([9, 1, 5, 3])).toBe(3);
});

test('a load sends the given number of requests, each with its own bytes, and reports its CPU time by thread', async () => {
  const bodies = new Set<string>();
  const server = startOwnServer(async (request) => {
    bodies.add(await request.text());
    return new Response('whole');
  });
  const spent = cpuMeter(process.pid);
  const template = httpBytes(server.port, `${server.prefix}/`, 'key', WORKLOADS[1]!.fields);
  const { requests, errors, latencies } = await run(server.port, bytesOf(template, 'own'), 8, 200);
  expect([requests, errors, latencies.length, bodies.size]).toEqual([200, 0, 200, 200]);
  const { all, main, http, engine } = spent();
  expect(all).toBeGreaterThan(0);
  expect(main + http + engine).toBeLessThanOrEqual(all + 1);
  await server.stop();
});
