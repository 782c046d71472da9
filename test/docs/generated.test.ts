import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { shipped } from '../../plugins/index.ts';
import { everyHelp } from '../../src/cli/all-help.ts';
import { jsonText } from '../../src/cli/text.ts';
import { policySchema, schemaText } from '../../src/policy/json-schema.ts';
import { AGENT_PAGES } from './agent-names-page.ts';
import { alertsPage } from './alerts-page.ts';
import { choicesPage, chosenPage } from './choices-page.ts';
import { CREDENTIALS_PAGE, credentialsPage } from './credentials-page.ts';
import { decisionPicture } from './decision-picture.ts';
import { diagnosticsPage } from './diagnostics-page.ts';
import { doctorPage } from './doctor-page.ts';
import { errorsPage } from './errors-page.ts';
import { AGENTS_PAGE, agentsPage, ESCALATION_PAGE, escalationPage } from './escalation-page.ts';
import { explainPicture } from './explain-picture.ts';
import { failureModesPage } from './failure-modes-page.ts';
import { foundSecretsPage, GUARDS_PAGE } from './found-secrets-page.ts';
import { housePicture } from './house-picture.ts';
import { IMPORTING_KEYS, importingKeysPage } from './importing-keys-page.ts';
import { metricsPage } from './metrics-page.ts';
import { OWN_SERVERS, ownServersPage } from './own-servers-page.ts';
import { playgroundDialects } from './playground-dialects.ts';
import { policyReferencePage } from './policy-reference-page.ts';
import { VARIABLE_PAGES } from './provider-variables.ts';
import { PROVIDER_PAGES } from './providers-page.ts';
import { requestPicture } from './request-picture.ts';
import { rolesPage } from './roles-page.ts';
import { selectorsPicture } from './selectors-picture.ts';
import { UNITS_PAGE, unitsPage } from './units-page.ts';

/** Files that are generated from code, completely or between marks. `UPDATE=1 bun test test/docs/generated.test.ts` writes them. */
const PAGES = {
  'docs/operate/alerts.md': alertsPage,
  [CREDENTIALS_PAGE]: credentialsPage,
  'docs/operate/doctor.md': doctorPage,
  'docs/operate/errors.md': errorsPage,
  'docs/policies/diagnostics.md': diagnosticsPage,
  'docs/operate/provider-faults.md': failureModesPage,
  'docs/operate/metrics.md': metricsPage,
  'docs/operate/roles.md': rolesPage,
  [GUARDS_PAGE]: foundSecretsPage,
  'docs/pictures/decision.svg': decisionPicture,
  'docs/pictures/explain.svg': explainPicture,
  'docs/pictures/house.svg': housePicture,
  'docs/pictures/request.svg': requestPicture,
  'docs/pictures/selectors.svg': selectorsPicture,
  'docs/policies/reference.md': policyReferencePage,
  [OWN_SERVERS]: ownServersPage,
  'docs/route/how-a-model-is-chosen.md': chosenPage,
  [ESCALATION_PAGE]: escalationPage,
  [AGENTS_PAGE]: agentsPage,
  'test/panel/choices.md': choicesPage,
  [IMPORTING_KEYS]: importingKeysPage,
  [UNITS_PAGE]: unitsPage,
  ...AGENT_PAGES,
  ...PROVIDER_PAGES,
  ...VARIABLE_PAGES,
  'src/cli/help.json': async () => jsonText(await everyHelp()),
  'src/console/views/playground/dialects.json': playgroundDialects,
  'policies/policy.schema.json': () => schemaText(policySchema(shipped)),
} as const;

for (const [path, make] of Object.entries(PAGES)) {
  test(`${path} has the content that the code generates`, async () => {
    const file = Bun.file(join(import.meta.dir, '../..', path));
    const made = await make();
    if (process.env.UPDATE) await file.write(made);
    expect(await file.text()).toBe(made);
  });
}
