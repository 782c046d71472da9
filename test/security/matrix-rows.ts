/** The columns of the matrix: people who have signed in, by role, and keys. */
export const ROLES = ['admin', 'auditor', 'finance', 'lead', 'member', 'owner', 'report', 'caller'] as const;
export type Column = (typeof ROLES)[number];

/** The owners of an object: the member itself, another person in the member's team, and a person in another team. */
export const TARGETS = ['own', 'team', 'other'] as const;
export type Target = (typeof TARGETS)[number];

export type Cells = readonly [
  admin: number,
  auditor: number,
  finance: number,
  lead: number,
  member: number,
  ...keys: Keys,
];
type Keys = readonly [owner: number, report: number, caller: number];
export type Row = Cells | Readonly<Record<Target, Cells>>;

const same = (status: number): Cells => [status, status, status, status, status, status, status, status];
const CHANGED_USER: Readonly<Record<Target, Cells>> = {
  own: [200, 403, 403, 200, 403, 200, 403, 403],
  team: [200, 403, 403, 200, 403, 200, 403, 403],
  other: [200, 403, 403, 404, 403, 200, 403, 403],
};
/** The row of a route that accepts no logins. People send a key there, like programs. */
const byKey = (...keys: Keys): Cells => [401, 401, 401, 401, 401, ...keys];
const MODELS = byKey(403, 403, 400);

/**
 * Who may use each operation of the OpenAPI document: the status for each role. IDs in the path, and the owner in the body of a creation,
 * belong to the target; other bodies are `{}`. A row without targets is the same for each target.
 */
export const MATRIX: Readonly<Record<string, Row>> = {
  'GET /.well-known/x402': same(404),
  'GET /healthz': same(200),
  'GET /metrics': same(200),
  'GET /readyz': same(200),
  'GET /v1/models': byKey(200, 200, 200),
  'GET /v1/models/{id}': byKey(200, 200, 200),
  'GET /v1/usage': byKey(200, 403, 200),
  'GET /v1/decisions/{id}': {
    own: byKey(200, 200, 200),
    team: byKey(200, 200, 404),
    other: byKey(200, 200, 404),
  },
  'GET /v1/payments/{id}': byKey(404, 403, 404),
  // None of these keys belongs to a wallet.
  'GET /v1/wallets/me': byKey(403, 403, 403),
  'GET /v1/responses': byKey(403, 403, 426),
  'POST /v1/chat/completions': MODELS,
  'POST /v1/messages': MODELS,
  'POST /v1/messages/count_tokens': MODELS,
  'POST /v1/responses': MODELS,
  'POST /v1/embeddings': MODELS,
  'POST /v1/completions': MODELS,
  'GET /v1beta/models': byKey(200, 200, 200),
  'GET /v1beta/models/{id}': byKey(200, 200, 200),
  'POST /v1beta/models/{model}:generateContent': MODELS,
  'POST /v1beta/models/{model}:streamGenerateContent': MODELS,
  'POST /v1beta/models/{model}:countTokens': MODELS,
  'POST /v1beta/models/{model}:embedContent': MODELS,
  'POST /v1beta/models/{model}:batchEmbedContents': MODELS,
  'POST /v1/route': byKey(403, 403, 200),
  'POST /v1/feedback': byKey(400, 403, 400),
  // None of these keys has the scope `delegate`.
  'GET /v1/keys': byKey(403, 403, 403),
  'POST /v1/keys': byKey(403, 403, 403),
  'DELETE /v1/keys/{id}': byKey(403, 403, 403),
  'POST /v1/wallets/topup': byKey(404, 403, 404),
  'POST /v1/wallets/keys': byKey(404, 403, 404),
  'GET /admin/usage/export': [200, 200, 200, 200, 200, 200, 200, 403],
  'GET /admin/usage': [200, 200, 200, 200, 200, 200, 200, 403],
  'GET /admin/traffic': [200, 200, 200, 200, 200, 200, 200, 403],
  'GET /admin/spend': [200, 200, 200, 200, 200, 200, 200, 403],
  'GET /admin/ledger': [200, 200, 200, 403, 403, 200, 200, 403],
  'GET /admin/ledger/audit': [200, 200, 200, 403, 403, 200, 403, 403],
  'POST /admin/ledger/audit': [200, 200, 200, 403, 403, 200, 403, 403],
  'GET /admin/decisions': [200, 200, 403, 200, 200, 200, 200, 403],
  'GET /admin/guards': [200, 200, 403, 200, 200, 200, 200, 403],
  'GET /admin/cache': [200, 200, 403, 200, 200, 200, 200, 403],
  'GET /admin/decisions/{id}': {
    own: [200, 200, 403, 200, 200, 200, 200, 403],
    team: [200, 200, 403, 200, 404, 200, 200, 403],
    other: [200, 200, 403, 404, 404, 200, 200, 403],
  },
  'GET /admin/requests/{id}': {
    own: [200, 200, 403, 200, 200, 200, 200, 403],
    team: [200, 200, 403, 200, 404, 200, 200, 403],
    other: [200, 200, 403, 404, 404, 200, 200, 403],
  },
  'GET /admin/decisions/{id}/money': {
    own: [200, 200, 403, 200, 200, 200, 200, 403],
    team: [200, 200, 403, 200, 404, 200, 200, 403],
    other: [200, 200, 403, 404, 404, 200, 200, 403],
  },
  'GET /admin/decisions/{id}/repeat': {
    own: [200, 200, 403, 200, 200, 200, 403, 403],
    team: [200, 200, 403, 200, 404, 200, 403, 403],
    other: [200, 200, 403, 404, 404, 200, 403, 403],
  },
  'GET /admin/decisions/{id}/content': [200, 403, 403, 403, 403, 200, 403, 403],
  'GET /admin/models': [200, 200, 200, 200, 200, 200, 200, 403],
  'GET /admin/events': [200, 200, 403, 200, 200, 200, 200, 403],
  // Nothing is sent, because the body is empty.
  'POST /admin/playground': [400, 403, 403, 400, 400, 400, 403, 403],
  'GET /admin/policy': [200, 200, 403, 403, 403, 200, 200, 403],
  'POST /admin/policy/reload': [200, 403, 403, 403, 403, 200, 403, 403],
  'POST /admin/policy/check': [200, 200, 403, 403, 403, 200, 200, 403],
  'POST /admin/policy/test': [200, 200, 403, 403, 403, 200, 200, 403],
  'POST /admin/policy/diff': [200, 200, 403, 403, 403, 200, 200, 403],
  // The body contains no request.
  'POST /admin/policy/explain': [400, 400, 403, 400, 400, 400, 400, 403],
  'POST /admin/policy/patch': [400, 400, 403, 403, 403, 400, 400, 403],
  'GET /admin/policy/files': [200, 200, 403, 403, 403, 200, 200, 403],
  'PUT /admin/policy/files': [400, 403, 403, 403, 403, 400, 403, 403],
  'GET /admin/policy/pushes': [200, 200, 403, 403, 403, 200, 200, 403],
  // This server uses its own policy files.
  'POST /admin/policy/pushes': [409, 403, 403, 403, 403, 409, 403, 403],
  'GET /admin/policy/revisions': [200, 200, 403, 403, 403, 200, 200, 403],
  'GET /admin/policy/revisions/{id}': [404, 404, 403, 403, 403, 404, 404, 403],
  'GET /admin/policy/schema': [200, 200, 403, 403, 403, 200, 200, 403],
  'GET /admin/alerts': [200, 200, 403, 403, 403, 200, 403, 403],
  'POST /admin/alerts/test': [400, 403, 403, 403, 403, 400, 403, 403],
  'GET /admin/cluster': [200, 200, 403, 403, 403, 200, 200, 403],
  'POST /admin/doctor': [200, 200, 403, 403, 403, 200, 200, 403],
  'GET /admin/status': [200, 200, 403, 403, 403, 200, 200, 403],
  'GET /admin/endpoints': [200, 200, 403, 403, 403, 200, 200, 403],
  'GET /admin/learning': [200, 200, 403, 403, 403, 200, 403, 403],
  'GET /admin/keys': [200, 200, 200, 200, 200, 200, 403, 403],
  'POST /admin/keys': {
    own: [200, 403, 403, 200, 200, 200, 403, 403],
    team: [200, 403, 403, 200, 403, 200, 403, 403],
    other: [200, 403, 403, 403, 403, 200, 403, 403],
  },
  'POST /admin/keys/import': [403, 403, 403, 403, 403, 400, 403, 403],
  'GET /admin/keys/{id}': {
    own: [200, 200, 200, 200, 200, 200, 403, 403],
    team: [200, 200, 200, 200, 404, 200, 403, 403],
    other: [200, 200, 200, 404, 404, 200, 403, 403],
  },
  'PATCH /admin/keys/{id}': {
    own: [200, 403, 403, 200, 200, 200, 403, 403],
    team: [200, 403, 403, 200, 404, 200, 403, 403],
    other: [200, 403, 403, 404, 404, 200, 403, 403],
  },
  'POST /admin/keys/{id}/suspend': [200, 403, 403, 403, 403, 200, 403, 403],
  'POST /admin/keys/{id}/resume': [200, 403, 403, 403, 403, 200, 403, 403],
  'POST /admin/keys/{id}/rotate': {
    own: [200, 403, 403, 200, 200, 200, 403, 403],
    team: [200, 403, 403, 200, 404, 200, 403, 403],
    other: [200, 403, 403, 404, 404, 200, 403, 403],
  },
  'POST /admin/keys/{id}/revoke': {
    own: [200, 403, 403, 200, 200, 200, 403, 403],
    team: [200, 403, 403, 200, 404, 200, 403, 403],
    other: [200, 403, 403, 404, 404, 200, 403, 403],
  },
  'POST /admin/keys/{id}/grant': [400, 403, 403, 403, 403, 400, 403, 403],
  'GET /admin/me': [200, 200, 200, 200, 200, 200, 200, 403],
  'GET /admin/amount': [200, 200, 200, 200, 200, 200, 200, 403],
  'GET /admin/logins': [200, 200, 200, 200, 200, 200, 200, 403],
  'DELETE /admin/logins/{id}': {
    own: [200, 404, 404, 404, 200, 200, 404, 403],
    team: [200, 404, 404, 200, 404, 200, 404, 403],
    other: [200, 404, 404, 404, 404, 200, 404, 403],
  },
  'GET /admin/subjects': [200, 200, 200, 403, 403, 200, 403, 403],
  'GET /admin/subjects/{id}': [404, 404, 404, 403, 403, 404, 403, 403],
  'POST /admin/subjects/{id}/block': [404, 403, 403, 403, 403, 404, 403, 403],
  'POST /admin/subjects/{id}/unblock': [404, 403, 403, 403, 403, 404, 403, 403],
  'GET /admin/teams': [200, 200, 200, 200, 200, 200, 403, 403],
  'POST /admin/teams': [400, 403, 403, 403, 403, 400, 403, 403],
  'GET /admin/teams/{id}': {
    own: [200, 200, 200, 200, 200, 200, 403, 403],
    team: [200, 200, 200, 200, 200, 200, 403, 403],
    other: [200, 200, 200, 404, 404, 200, 403, 403],
  },
  'PATCH /admin/teams/{id}': [200, 403, 403, 403, 403, 200, 403, 403],
  'DELETE /admin/teams/{id}': [409, 403, 403, 403, 403, 409, 403, 403],
  'GET /admin/users': [200, 200, 200, 200, 200, 200, 403, 403],
  'POST /admin/users': {
    own: [200, 403, 403, 200, 403, 200, 403, 403],
    team: [200, 403, 403, 200, 403, 200, 403, 403],
    other: [200, 403, 403, 403, 403, 200, 403, 403],
  },
  'GET /admin/users/{id}': {
    own: [200, 200, 200, 200, 200, 200, 403, 403],
    team: [200, 200, 200, 200, 404, 200, 403, 403],
    other: [200, 200, 200, 404, 404, 200, 403, 403],
  },
  'PATCH /admin/users/{id}': CHANGED_USER,
  'DELETE /admin/users/{id}': CHANGED_USER,
  'POST /admin/users/{id}/suspend': CHANGED_USER,
  'POST /admin/users/{id}/resume': CHANGED_USER,
  'GET /admin/trail': [200, 200, 403, 403, 403, 200, 403, 403],
  'GET /admin/trail/verify': [200, 200, 403, 403, 403, 200, 403, 403],
  'GET /admin/trail/export': [200, 200, 403, 403, 403, 200, 403, 403],
  'POST /admin/trail/erase': [403, 403, 403, 403, 403, 400, 403, 403],
  'GET /admin/payments': [200, 200, 200, 403, 403, 200, 403, 403],
  'POST /admin/payments/{id}/reconcile': [404, 403, 403, 403, 403, 404, 403, 403],
  'GET /admin/wallets': [200, 200, 200, 403, 403, 200, 403, 403],
  'GET /admin/wallets/{id}': [404, 404, 404, 403, 403, 404, 403, 403],
  'POST /admin/wallets/{id}/block': [404, 403, 403, 403, 403, 404, 403, 403],
  'POST /admin/wallets/{id}/unblock': [404, 403, 403, 403, 403, 404, 403, 403],
  'POST /admin/wallets/{id}/credit': [400, 403, 403, 403, 403, 400, 403, 403],
};

const isByTarget = (row: Row): row is Readonly<Record<Target, Cells>> => !Array.isArray(row);

/** Matches operations whose path names an object with an owner. */
const HAS_OWNER = /\/(?:keys|users|teams|logins|decisions|requests)\/\{id\}/;

/** The targets of an operation: all targets if an object has an owner, even if the row is the same for each. */
export const targetsOf = (operation: string, row: Row): readonly Target[] =>
  isByTarget(row) || HAS_OWNER.test(operation) ? TARGETS : ['other'];

export const cellsOf = (row: Row, target: Target): Cells => (isByTarget(row) ? row[target] : row);

/** Returns sentences that say which rows to add for operations. */
export const missingRows = (operations: readonly string[]): readonly string[] =>
  operations
    .filter((operation) => !(operation in MATRIX))
    .map((operation) => `Add a row for ${operation} to MATRIX of test/security/matrix-rows.ts.`);

/** @throws Error that names the row to add if the operation has none */
export function rowOf(operation: string): Row {
  const row = MATRIX[operation];
  if (!row) throw new Error(missingRows([operation])[0]);
  return row;
}
