# The entry point of MariaDB's image reads this at the first start: an account for each service, with the rights of docs/operating/grants.md
# and no more. DB_PREFIX begins the names of the network's databases; DB_PASS is the password of all.
prefix=${DB_PREFIX:-Platform_LTC_Mainnet}
write='SELECT, INSERT, UPDATE, DELETE, CREATE'
account() { echo "CREATE USER '$1'@'%' IDENTIFIED BY '${DB_PASS//\'/\'\'}';"; }
grant() { echo "GRANT $2 ON \`$3\`.* TO '$1'@'%';"; }
docker_process_sql <<SQL
$(account hub)
$(grant hub "$write, ALTER, INDEX" Platform_Hub)
$(account decoder)
$(grant decoder "$write, ALTER" "${prefix}_Decoder")
$(account indexer)
$(grant indexer SELECT "${prefix}_Decoder")
$(grant indexer "$write" "${prefix}_Indexer")
$(account explorer)
$(grant explorer SELECT "${prefix}_Indexer")
$(grant explorer SELECT "${prefix}_Decoder")
$(account tracker)
$(grant tracker "$write, INDEX, DROP" "${prefix}_Tracker")
SQL
