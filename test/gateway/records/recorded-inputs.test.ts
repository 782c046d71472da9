import { expect, test } from 'bun:test';
import { recordedOf } from '../../../src/gateway/request/decision-record.ts';
import { chatRequest } from '../../support/model-request.ts';

const caller = { keyId: 'k', labels: { team: 'search' }, team: 'team_1', user: null };

test('a record stores `stream` and the labels, and only the metadata keys that the policy lists, redacted', () => {
  const metadata = { team: 'red', mail: 'write to ada@example.com', secret: 'mine' };
  const policy = { records: { metadata: ['team', 'mail', 'absent'] } };
  expect(recordedOf(chatRequest({ stream: true, metadata }), caller, policy)).toEqual({
    ...caller,
    stream: true,
    session: null,
    agent: null,
    parentAgent: null,
    sentBy: null,
    request: null,
    metadata: { team: 'red', mail: 'write to [email]' },
  });
});

test('a record stores no metadata unless the policy lists a key', () => {
  const request = chatRequest({ metadata: { team: 'red' } });
  expect(recordedOf(request, caller, { records: { metadata: [] } })).toEqual({
    ...caller,
    stream: false,
    session: null,
    agent: null,
    parentAgent: null,
    sentBy: null,
    request: null,
    metadata: {},
  });
  expect(recordedOf(chatRequest(), caller, { records: { metadata: ['team'] } }).metadata).toEqual({});
});
