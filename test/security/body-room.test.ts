import { expect, test } from 'bun:test';
import { testPolicy } from '../support/policies.ts';
import { connect } from '../support/raw-http.ts';
import { useSignalbox, useUpstream } from '../support/use.ts';

const MiB = 1_048_576;

const upstream = useUpstream();
const box = useSignalbox(() => ({
  policy: testPolicy(
    { first: upstream.url },
    { best: { endpoints: ['first'] } },
    `gateway: { reports_per_minute: 1, bodies_bytes_max: ${MiB} }\n`,
  ),
}));

test('a request that exceeds its rate limit takes no room for its body', async () => {
  const key = await box.makeKey('--scope', 'report');
  const announced = async (bytes: number) => {
    const connection = await connect(box.url);
    const lines = ['host: localhost', `authorization: Bearer ${key}`, 'content-type: application/json'];
    await connection.write(
      `POST /admin/policy/check HTTP/1.1\r\n${lines.join('\r\n')}\r\ncontent-length: ${bytes}\r\n\r\n`,
    );
    return connection;
  };
  const counted = await announced(2);
  await counted.write('{}');
  expect((await counted.response()).status).toBe(200);
  counted.close();
  for (let at = 0; at < 20; at++) {
    const refused = await announced(65_000);
    expect((await refused.response()).status).toBe(429);
    refused.close();
  }
  const body = JSON.stringify({ model: 'best', messages: [{ role: 'user', content: 'Hello' }] }).padEnd(500_000);
  expect((await box.post('/v1/chat/completions', null, { body })).status).toBe(200);
});
