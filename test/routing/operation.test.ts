import { expect, test } from 'bun:test';
import { REJECTIONS } from '../../src/core/decision/decision.ts';
import { refusalError } from '../../src/routing/refuse.ts';
import { decisionOf, facts, idsOf, model, refusalOf, snapshot } from './build.ts';

test('a model that does not serve the operation is rejected for that reason alone, even if the request names it', () => {
  const from = snapshot([model('other', { operations: 0 })]);
  for (const request of [facts(), facts({ model: 'other', named: ['other'] })]) {
    const refusal = refusalOf(from, request);
    expect(refusal.rejected).toEqual([{ model: 0, rejections: REJECTIONS.operation.bit }]);
    expect(refusalError(refusal, from).info.details).toMatchObject({
      rejected: [{ model: 'other', reasons: ['it does not serve the operation `chat`'] }],
    });
  }
  const both = snapshot([model('other', { operations: 0 }), model('x')]);
  expect(idsOf(decisionOf(both, facts()), both)).toEqual(['x']);
});
