import { test } from 'bun:test';
import { expectExactBudgets } from '../support/moving-users.ts';
import { testPolicy } from '../support/policies.ts';
import { withKey } from '../support/signalbox.ts';
import { useSignalbox, useUpstream } from '../support/use.ts';

const upstream = useUpstream();
const box = useSignalbox(() => ({ policy: testPolicy({ first: upstream.url }, { m: { endpoints: ['first'] } }) }));

test('if users change team while their requests run, each budget has exactly the reported prices', async () => {
  const asked = { model: 'm', messages: [{ role: 'user', content: 'Hi.' }], max_tokens: 100 };
  await expectExactBudgets([box], (at, key) => at.post('/v1/chat/completions', asked, withKey(key)));
}, 120_000);
