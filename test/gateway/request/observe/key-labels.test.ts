import { describe, expect, test } from 'bun:test';
import { REJECTIONS } from '../../../../src/core/decision/decision.ts';
import type { Caller } from '../../../../src/core/people/caller.ts';
import { createChatMetrics } from '../../../../src/gateway/request/observe/chat-metrics.ts';
import type { RequestContext } from '../../../../src/gateway/request/request-context.ts';
import { metricsPage } from '../../../../src/host/telemetry/page.ts';
import { facts, model, snapshot } from '../../../routing/build.ts';
import { readPage, total } from '../../../support/prometheus.ts';
import { attemptRecord, callerNamed, contextWith, resultOf } from '../../../support/request-context.ts';

const CHATS = 'signalbox_chats_total';
const SPENT = 'signalbox_credits_spent_total';
const VALUES_MAX = 200;
const PAIRS_MAX = 4_000;

const rejections = new Uint32Array(Object.keys(REJECTIONS).length);
const routing = { facts: facts(), snapshot: snapshot([model('a')]), rejections };

const keyWith = (labels: Readonly<Record<string, string>>): Caller => ({ ...callerNamed('key'), labels });

/** Makes a chat that cost a Credit, answered by a model. */
const chatBy = (caller: Caller | null, answeredBy = 'a'): RequestContext =>
  contextWith({
    ...{ route: '/v1/chat/completions', status: 200, routing, caller },
    result: resultOf({ charged: 1_000_000, attempts: [attemptRecord({ model: answeredBy })] }),
  });

async function pageOf(requests: Iterable<RequestContext>, label: () => string | null) {
  const { count, families } = createChatMetrics(label);
  for (const one of requests) count(one);
  return readPage(await metricsPage(families)());
}

/** Returns the values of the label on the series of a family, and the sum of each. */
function sums(page: Awaited<ReturnType<typeof pageOf>>, family: string): Map<string, number> {
  const all = new Map<string, number>();
  for (const { labels, value } of page.get(family)!.samples) {
    all.set(labels.key_label!, (all.get(labels.key_label!) ?? 0) + value);
  }
  return all;
}

describe('the key label that the policy chooses for metrics', () => {
  test('chats and Credits are counted by the value of the chosen key label; a key without it has an empty value', async () => {
    const callers = [
      keyWith({ team: 'search' }),
      keyWith({ team: 'legal', floor: '2' }),
      keyWith({ team: 'search' }),
      keyWith({ team: '' }),
      keyWith({ floor: '2' }),
      null,
    ];
    const page = await pageOf([...callers.map((one) => chatBy(one))], () => 'team');
    const wanted = new Map([
      ['search', 2],
      ['legal', 1],
      ['', 3],
    ]);
    expect(sums(page, CHATS)).toEqual(wanted);
    expect(sums(page, SPENT)).toEqual(wanted);
    expect(total(page, SPENT, { model: 'a', outcome: 'completed', key_label: 'search' })).toBe(2);
    for (const { name, samples } of page.values()) {
      const bears = samples.some(({ labels }) => labels.key_label !== undefined);
      expect([name, bears]).toEqual([name, name === CHATS || name === SPENT]);
    }
  });

  test('the label is empty if the policy chooses none, or a name that only JavaScript objects have', async () => {
    const requests = ['a', 'b'].map((team) => chatBy(keyWith({ team })));
    for (const name of [null, 'constructor']) {
      expect(sums(await pageOf(requests, () => name), SPENT)).toEqual(new Map([['', 2]]));
    }
  });

  test('the label follows changes of the policy, and also counts refused requests', async () => {
    let name = 'team';
    function* requests() {
      yield chatBy(keyWith({ team: 'search', floor: 'second' }));
      name = 'floor';
      yield chatBy(keyWith({ team: 'search', floor: 'second' }));
      const caller = keyWith({ floor: 'first' });
      yield contextWith({ route: '/v1/chat/completions', status: 429, code: 'rate_limit_exceeded', caller });
    }
    const page = await pageOf(requests(), () => name);
    expect(sums(page, CHATS)).toEqual(
      new Map([
        ['search', 1],
        ['second', 1],
        ['first', 1],
      ]),
    );
  });

  test('the label has at most 200 values; further values count as `other`, and no chat is lost', async () => {
    const requests = Array.from({ length: 2 * (VALUES_MAX + 50) }, (_, at) =>
      chatBy(keyWith({ team: `team-${at % (VALUES_MAX + 50)}` })),
    );
    const all = sums(await pageOf(requests, () => 'team'), SPENT);
    expect(all.size).toBe(VALUES_MAX + 1);
    expect(all.get('other')).toBe(2 * 50);
    expect([...all.values()].reduce((sum, one) => sum + one, 0)).toBe(requests.length);
  });

  test('the label has at most 4,000 pairs with models; beyond that the model keeps its figures, and the value is `other`', async () => {
    const models = Array.from({ length: 30 }, (_, at) => `model-${at}`);
    const requests = models.flatMap((answeredBy) =>
      Array.from({ length: VALUES_MAX }, (_, at) => chatBy(keyWith({ team: `team-${at}` }), answeredBy)),
    );
    const page = await pageOf(requests, () => 'team');
    const series = page.get(SPENT)!.samples;
    expect(series.filter(({ labels }) => labels.key_label !== 'other')).toHaveLength(PAIRS_MAX);
    for (const answeredBy of models) expect(total(page, SPENT, { model: answeredBy })).toBe(VALUES_MAX);
  });
});
