import { createReadStream, statSync } from 'node:fs';
import { createServer } from 'node:http';

// A process of its own: serves one file, as plainly as Node can, and says where.
const [file = ''] = process.argv.slice(2);
const server = createServer((_, response) => {
  response.writeHead(200, { 'content-length': statSync(file).size });
  createReadStream(file, { highWaterMark: 256 * 1024 }).pipe(response);
});
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  process.send?.(typeof address === 'object' && address ? address.port : 0);
});
process.once('disconnect', () => process.exit(0));
