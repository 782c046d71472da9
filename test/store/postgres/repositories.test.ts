import { describe } from 'bun:test';
import { orDeeply } from '../../deep/deeply.ts';
import { accessSuite } from '../suites/access.ts';
import { alertSuite } from '../suites/alerts.ts';
import { endpointSuite } from '../suites/endpoints.ts';
import { instanceReportSuite } from '../suites/instance-reports.ts';
import { learningSuite } from '../suites/learning.ts';
import { linesSuite } from '../suites/lines.ts';
import { loginSuite } from '../suites/logins.ts';
import { newsSuite } from '../suites/news.ts';
import { paymentSuite } from '../suites/payments.ts';
import { peopleSuite } from '../suites/people.ts';
import { pushedPolicySuite } from '../suites/pushed-policies.ts';
import { recordSuite } from '../suites/records.ts';
import { subjectSuite } from '../suites/subjects.ts';
import { threadSuite } from '../suites/threads.ts';
import { trailSuite } from '../suites/trail.ts';
import { openInPostgres } from './opened.ts';

for (const handles of orDeeply([2], [1])) {
  const open = () => openInPostgres(handles);
  describe(`in PostgreSQL, ${handles} instances`, () => {
    accessSuite(open);
    linesSuite(open);
    trailSuite(open);
    alertSuite(open);
    paymentSuite(open);
    peopleSuite(open);
    pushedPolicySuite(open);
    recordSuite(open);
    learningSuite(open);
    endpointSuite(open);
    instanceReportSuite(open);
    newsSuite(open);
    threadSuite(open);
    loginSuite(open);
    subjectSuite(open);
  });
}
