import { Empty } from '../../design/states.tsx';
import { ViewHead } from '../../shell/view-head.tsx';

export default function Requests() {
  return (
    <div class="stack">
      <ViewHead title="Requests" summary="Not in this version" />
      <Empty title="Nothing to see yet">The admin API has the same facts: see the API documentation at /docs.</Empty>
    </div>
  );
}
