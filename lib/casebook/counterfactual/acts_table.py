"""The acts that are known by name, one a line.

Fields: code | country | year | chapter of Singapore's revised edition | titles |
abbreviations. Facts about statutes, taken from their title pages; codes are the usual
abbreviations, and ``SG`` marks an act of Singapore that India has one of the name too.
"""

TABLE = """
IPC|IN|1860||Indian Penal Code;Penal Code|IPC
CrPC|IN|1973||Code of Criminal Procedure;Criminal Procedure Code|CrPC
CPC|IN|1908||Code of Civil Procedure;Civil Procedure Code|CPC
IEA|IN|1872||Indian Evidence Act;Evidence Act|IEA
BNS|IN|2023||Bharatiya Nyaya Sanhita|BNS
BNSS|IN|2023||Bharatiya Nagarik Suraksha Sanhita|BNSS
BSA|IN|2023||Bharatiya Sakshya Adhiniyam|BSA
Constitution|IN|1950||Constitution of India;Constitution|
NIA|IN|1881||Negotiable Instruments Act|NI Act
HMA|IN|1955||Hindu Marriage Act|HMA
HSA|IN|1956||Hindu Succession Act|HSA
IDA|IN|1869||Indian Divorce Act;Divorce Act|
ISA|IN|1925||Indian Succession Act|
MVA|IN|1988||Motor Vehicles Act|MV Act
POCSO|IN|2012||Protection of Children from Sexual Offences Act|POCSO Act;POCSO
NDPS|IN|1985||Narcotic Drugs and Psychotropic Substances Act|NDPS Act;NDPS
PCA|IN|1988||Prevention of Corruption Act|PC Act
PMLA|IN|2002||Prevention of Money Laundering Act|PMLA
UAPA|IN|1967||Unlawful Activities (Prevention) Act|UAPA
COFEPOSA|IN|1974||Conservation of Foreign Exchange and Prevention of Smuggling Activities Act|COFEPOSA Act;COFEPOSA
DPA|IN|1961||Dowry Prohibition Act|DP Act
PWDVA|IN|2005||Protection of Women from Domestic Violence Act|DV Act;PWDVA
JJA|IN|2015||Juvenile Justice (Care and Protection of Children) Act;Juvenile Justice Act|JJ Act
SCSTA|IN|1989||Scheduled Castes and Scheduled Tribes (Prevention of Atrocities) Act|SC/ST Act
AA|IN|1959||Arms Act|
ICA|IN|1872||Indian Contract Act;Contract Act|
TPA|IN|1882||Transfer of Property Act|TP Act
SRA|IN|1963||Specific Relief Act|
LA|IN|1963||Limitation Act|
RA|IN|1908||Registration Act|
ACA|IN|1996||Arbitration and Conciliation Act;Arbitration Act|
IDisA|IN|1947||Industrial Disputes Act|ID Act
WCA|IN|1923||Workmen's Compensation Act;Employees' Compensation Act|
PGA|IN|1972||Payment of Gratuity Act|
CoA|IN|2013||Companies Act|
IBC|IN|2016||Insolvency and Bankruptcy Code|IBC
ITA|IN|1961||Income-tax Act;Income Tax Act|IT Act
CusA|IN|1962||Customs Act|
CPA|IN|1986||Consumer Protection Act|
ElA|IN|2003||Electricity Act|
RTI|IN|2005||Right to Information Act|RTI Act
RPA|IN|1951||Representation of the People Act|RP Act
TMA|IN|1999||Trade Marks Act|
LAA|IN|1894||Land Acquisition Act|
FoA|IN|1946||Foreigners Act|
CLRA|IN|1970||Contract Labour (Regulation and Abolition) Act|
PDPA|SG|2012||Personal Data Protection Act|PDPA
SGPC|SG|1871|224|Penal Code|
SGCPC|SG|2010|68|Criminal Procedure Code|CPC
SGEA|SG|1893|97|Evidence Act|
SGConstitution|SG|1965||Constitution of the Republic of Singapore;Constitution of Singapore;Constitution|
ROC|SG|2021||Rules of Court|ROC
MDA|SG|1973|185|Misuse of Drugs Act|MDA
RTA|SG|1961|276|Road Traffic Act|RTA
EmA|SG|1968|91|Employment Act|
EFMA|SG|1990|91A|Employment of Foreign Manpower Act|EFMA
ImA|SG|1959|133|Immigration Act|
WICA|SG|2019|354|Work Injury Compensation Act|WICA
SGCoA|SG|1967|50|Companies Act|
SGLA|SG|1959|163|Limitation Act|
SGPCA|SG|1960|241|Prevention of Corruption Act|PCA
CLA|SG|1909|43|Civil Law Act|CLA
WC|SG|1961|353|Women's Charter|
POHA|SG|2014|256A|Protection from Harassment Act|POHA
POA|SG|2009|257A|Public Order Act|
SOPA|SG|2004|30B|Building and Construction Industry Security of Payment Act|SOPA;SOP Act
MLA|SG|2008|188|Moneylenders Act|
IRDA|SG|2018||Insolvency, Restructuring and Dissolution Act|IRDA
CPFTA|SG|2003|52A|Consumer Protection (Fair Trading) Act|CPFTA
UCTA|SG|1977|396|Unfair Contract Terms Act|UCTA
"""
