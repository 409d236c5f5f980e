import { assist, dismiss } from '../../runtime/src/worker_pool.js';
import { READY } from '../../runtime/src/remote.js';

const parent = globalThis.process?.getBuiltinModule('node:worker_threads').parentPort ?? globalThis;

/**
 * Help with the runs of several programs, one after the other, like a Worker of a page. Report the
 * start of each in `started`.
 */
async function help({ id, argument: { started, port, ...program } }) {
  const wrappedPort = {
    close: () => port.close(),
    set onmessage(begin) {
      port.onmessage = () => {
        Atomics.store(started, 0, 1);
        begin();
      };
    },
  };
  dismiss(0);
  await assist({ ...program, number: 0, index: 0, port: wrappedPort });
  parent.postMessage({ id });
}

if (parent.on) parent.on('message', help);
else parent.onmessage = event => help(event.data);
parent.postMessage({ id: READY });
