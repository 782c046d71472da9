import { test } from 'bun:test';
import { expectExactBudgets } from '../../support/moving-users.ts';
import { chat, startStage } from './stage.ts';

test('if users of two servers change team while their requests run, each budget has exactly the reported prices', async () => {
  await using stage = await startStage(2, { limit: 100_000 });
  await expectExactBudgets(stage.fleet.servers, (box, key) => chat(box, { id: '', key }));
}, 120_000);
