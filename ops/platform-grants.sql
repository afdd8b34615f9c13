-- One account for all services of ops/docker-compose.platform.yml; docs/grants.md has one of least rights for each.
GRANT ALL ON `Platform\_%`.* TO 'platform'@'%';
