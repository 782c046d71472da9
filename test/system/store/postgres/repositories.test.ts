import { describe } from 'bun:test';
import { orDeeply } from '../../../deep/deeply.ts';
import { openInPostgres } from '../../../store/postgres/opened.ts';
import { accessSuite } from '../../../store/suites/access.ts';
import { alertSuite } from '../../../store/suites/alerts.ts';
import { cacheSuite } from '../../../store/suites/cache.ts';
import { conversationSuite } from '../../../store/suites/conversations.ts';
import { endpointSuite } from '../../../store/suites/endpoints.ts';
import { instanceReportSuite } from '../../../store/suites/instance-reports.ts';
import { learningSuite } from '../../../store/suites/learning.ts';
import { linesSuite } from '../../../store/suites/lines.ts';
import { loginSuite } from '../../../store/suites/logins.ts';
import { newsSuite } from '../../../store/suites/news.ts';
import { paymentSuite } from '../../../store/suites/payments.ts';
import { peopleSuite } from '../../../store/suites/people.ts';
import { pushedPolicySuite } from '../../../store/suites/pushed-policies.ts';
import { recordSuite } from '../../../store/suites/records.ts';
import { subjectSuite } from '../../../store/suites/subjects.ts';
import { threadSuite } from '../../../store/suites/threads.ts';
import { trailSuite } from '../../../store/suites/trail.ts';

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
    conversationSuite(open);
    cacheSuite(open);
    loginSuite(open);
    subjectSuite(open);
  });
}
