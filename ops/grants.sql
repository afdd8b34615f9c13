-- What a client's account needs at its MariaDB; the databases bear the names that their sources have.
GRANT ALL ON `Platform\_%`.* TO 'replica'@'%';
